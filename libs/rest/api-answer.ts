// What a platform answered, read whole. A status that says no is an answer like any other: what it means is for the adapter
// of the platform to say.

import { retryAfterMs } from './retry-after.ts';

export class ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** After decompression, and without the secrets. */
  readonly bytes: Buffer;
  /** Who was asked; empty where that is not known. */
  readonly host: string;
  #json: { readonly value: unknown } | undefined;

  constructor(status: number, headers: Headers, bytes: Buffer, host = '') {
    this.status = status;
    this.headers = headers;
    this.bytes = bytes;
    this.host = host;
  }

  get isOk(): boolean {
    return this.status >= 200 && this.status <= 299;
  }

  get text(): string {
    return this.bytes.toString('utf8');
  }

  /**
   * The body as JSON, whatever its type is said to be; undefined where it is none, as the page of a proxy. An integer that no
   * number can hold is text: it is an id.
   */
  get json(): unknown {
    this.#json ??= { value: parsed(this.text) };
    return this.#json.value;
  }

  /** The pause that `Retry-After` asks for. */
  get retryAfterMs(): number | undefined {
    return retryAfterMs(this.headers);
  }
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return HAS_LARGE.test(text) ? JSON.parse(text.replace(STRING_OR_LARGE, withoutLarge)) : value;
  } catch {
    return undefined;
  }
}

const HAS_LARGE = /[:[,\s]-?\d{16}/;
const STRING_OR_LARGE = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

function withoutLarge(found: string): string {
  return found.startsWith('"') || Number.isSafeInteger(Number(found)) ? found : `"${found}"`;
}
