// Client identity (clientInfo and capabilities), stored for the lifetime of a session, listen stream or
// connection. The received text is stored and parsed on demand: parsed, deeply nested JSON needs fifty times
// as much memory.

import { JsonScanner, TooDeepError } from '../jsonrpc/json-scanner.ts';
import { rawJson } from '../jsonrpc/span.ts';

/** Maximum length of the cached name and version. */
export const MAX_NAME_CHARS = 1_024;

/** Nesting depth of members in `params._meta`. */
const IN_META = 3;

export class ClientDescription {
  /** Name sent by the client; '' if it is not a string. */
  readonly name: string;
  readonly version: string;
  /** Bytes reserved in the budget for descriptions; written by Sessions only. */
  reservedBytes = 0;
  /** Raw JSON, in Latin-1: one character per byte. */
  readonly rawInfo: string;
  readonly rawCapabilities: string;
  /** Capabilities without `roots`, for servers that must not see them; usually the same text. */
  readonly rawWithoutRoots: string;
  #isShallow: boolean | undefined;

  constructor(clientInfo: unknown, capabilities: Readonly<Record<string, unknown>>) {
    const { name, version } = (clientInfo ?? {}) as { name?: unknown; version?: unknown };
    this.name = copyStart(name);
    this.version = copyStart(version);
    this.rawInfo = rawJson(clientInfo ?? null);
    this.rawCapabilities = rawJson(capabilities);
    const { roots, ...rest } = capabilities;
    this.rawWithoutRoots = roots === undefined ? this.rawCapabilities : rawJson(rest);
  }

  /** Approximate size in memory, in bytes. */
  get bytes(): number {
    const { rawInfo, rawCapabilities, rawWithoutRoots, name, version } = this;
    const extraLength = rawWithoutRoots === rawCapabilities ? 0 : rawWithoutRoots.length;
    return rawInfo.length + rawCapabilities.length + extraLength + name.length + version.length;
  }

  /** True if it can be copied into `_meta` of a request without exceeding the nesting limit. */
  get isShallow(): boolean {
    this.#isShallow ??= fitsInMeta(this.rawInfo) && fitsInMeta(this.rawCapabilities);
    return this.#isShallow;
  }

  get clientInfo(): unknown {
    return parseRaw(this.rawInfo);
  }

  get capabilities(): Readonly<Record<string, unknown>> {
    return parseRaw(this.rawCapabilities) as Readonly<Record<string, unknown>>;
  }
}

function fitsInMeta(raw: string): boolean {
  try {
    new JsonScanner(Buffer.from(raw, 'latin1')).value(IN_META);
    return true;
  } catch (error) {
    if (error instanceof TooDeepError) return false;
    throw error;
  }
}

function parseRaw(raw: string): unknown {
  return JSON.parse(Buffer.from(raw, 'latin1').toString('utf8'));
}

/** Copies the beginning; a slice would retain the whole string. */
function copyStart(text: unknown): string {
  return typeof text === 'string' ? Buffer.from(text.slice(0, MAX_NAME_CHARS)).toString() : '';
}
