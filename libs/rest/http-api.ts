// A client of one platform's HTTP API: what every such client must not forget, around fetch as it is. It keeps no state but the
// connections of fetch: pace, patience and what a status means are for those who use it.
//
// Every request has a deadline, which the reading of its answer is a part of; the answer has a largest size.
//
// HC2  what the headers carry goes to the origin of the address that was given and to no other, and every request to an address
//      below that one. A redirect is an answer like any other, or is followed within the origin; what writes keeps its method
//      and body then, or is not sent on.
// HC3  no request is sent twice by itself.
// HC4  whatever goes wrong is a RequestFault, in which no secret stands; nor does one that was named stand in the body of an answer.

import manifest from '../../package.json' with { type: 'json' };
import type { Fetch } from './checked-fetch.ts';
import { nextAddress } from './redirect.ts';
import { connectionFault, RequestFault } from './request-fault.ts';
import { retryAfterMs } from './retry-after.ts';
import { endWhatIsOver } from './standstill.ts';
import { type Clean, plainJson, without } from './without-secrets.ts';

/** A complete answer. Error statuses are answers too: the platform's adapter interprets them. */
export class ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Decompressed body without secrets. */
  readonly bytes: Buffer;
  /** Address of the request; empty if unknown. */
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
   * Returns the body as JSON and ignores the declared type; undefined for other bodies, such as a proxy's error page. Integers
   * beyond the range of numbers are returned as strings, because they are ids.
   */
  get json(): unknown {
    this.#json ??= { value: parsed(this.text) };
    return this.#json.value;
  }

  /** Pause of `Retry-After`, in milliseconds. */
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

/**
 * Aborts a request at the deadline or by the caller's signal. Removes the listener: `AbortSignal.any` would leak one per request on
 * long-lived signals, such as a connection's.
 */
export class RequestEnd {
  readonly #controller = new AbortController();
  readonly #asked: AbortSignal | undefined;
  readonly #deadline: AbortSignal;

  constructor(timeoutMs: number, asked: AbortSignal | undefined) {
    this.#asked = asked;
    // Timers accept whole milliseconds only.
    this.#deadline = AbortSignal.timeout(Math.ceil(timeoutMs));
    this.#deadline.addEventListener('abort', this.giveUp, { once: true });
    if (asked?.aborted) this.giveUp();
    else asked?.addEventListener('abort', this.giveUp, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** True if only the deadline has ended the request. */
  get hasTimedOut(): boolean {
    return this.#deadline.aborted && this.#asked?.aborted !== true;
  }

  clear(): void {
    this.#deadline.removeEventListener('abort', this.giveUp);
    this.#asked?.removeEventListener('abort', this.giveUp);
  }

  /** Aborts the request. */
  readonly giveUp = (): void => this.#controller.abort();
}

const AGENT = `actor-gateway/${manifest.version}`;
const TIMEOUT_MS = 20_000;
const MAX_ANSWER_BYTES = 4_194_304;

export interface HttpApiOptions {
  /** http or https, without user name, query and fragment; with or without slashes at its end. A path in it is kept. */
  readonly baseUrl: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Of one request, from the connection to the end of the answer. @default 20000 */
  readonly timeoutMs?: number;
  /** After decompression. @default 4 MiB */
  readonly maxAnswerBytes?: number;
  /** @default 'never' */
  readonly redirects?: 'never' | 'same-origin';
  /** Taken out of every answer: what is sent in headers, addresses or bodies and must be seen nowhere. */
  readonly secrets?: readonly string[];
  /** Sends requests and followed redirects. @default fetch */
  readonly fetch?: Fetch;
}

export interface ApiRequest {
  /** @default 'GET' */
  readonly method?: string;
  /** Below the base, with a slash before it and each part encoded (`path.ts`). */
  readonly path: string;
  /** Those that are undefined are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body: a value that is sent as JSON, or the fields of a form. */
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
  readonly maxAnswerBytes?: number;
}

export class HttpApi {
  /** Name and port. */
  readonly host: string;
  readonly #base: string;
  readonly #headers: Headers;
  readonly #options: HttpApiOptions;
  readonly #clean: Clean | undefined;

  /** Throws a TypeError, in which neither the address nor a header is repeated, for one that cannot be used. */
  constructor(options: HttpApiOptions) {
    const { baseUrl, headers, secrets = [] } = options;
    const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol))
      throw new TypeError('the address of an API is none of http or https');
    this.host = url.host;
    if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
      throw new TypeError(`the address of the API at ${this.host} has a user name, a query or a fragment`);
    this.#base = url.href.replace(/\/+$/, '');
    this.#headers = this.#headersOf(
      new Headers({ accept: 'application/json', 'user-agent': AGENT }),
      headers,
    );
    this.#options = options;
    this.#clean = secrets.length === 0 ? undefined : without(secrets);
  }

  /** The answer, whatever its status. Rejects with a RequestFault; with a TypeError where the request is none. */
  async request(request: ApiRequest): Promise<ApiAnswer> {
    const { method = 'GET', timeoutMs = this.#options.timeoutMs ?? TIMEOUT_MS, maxAnswerBytes } = request;
    const { headers, body } = this.#contentOf(request);
    const follows = this.#options.redirects === 'same-origin';
    const send = this.#options.fetch ?? fetch;
    const isWrite = method !== 'GET' && method !== 'HEAD';
    let url = this.#addressOf(request);
    const end = new RequestEnd(timeoutMs, request.signal);
    let response: Response | undefined;
    let wasBegun = false;
    try {
      for (let count = 0; ; count++) {
        endWhatIsOver();
        end.signal.throwIfAborted();
        wasBegun = true;
        response = await send(url, { method, headers, body, redirect: 'manual', signal: end.signal });
        const next = follows ? nextAddress(response, { from: url, isWrite, count }) : undefined;
        if (next === undefined) return await this.#read(response, maxAnswerBytes);
        await response.body?.cancel();
        url = next;
        response = undefined;
      }
    } catch (error) {
      const fault = this.#faultOf(error, end, timeoutMs, wasBegun, response?.status);
      // Nobody reads on: the connection is not waited for.
      end.giveUp();
      throw fault;
    } finally {
      end.clear();
    }
  }

  #addressOf({ path, query = {} }: ApiRequest): URL {
    const text = this.#base + path;
    const url = URL.canParse(text) ? new URL(text) : undefined;
    // As it is compared the path is without `..`, in whatever way that was written.
    const rest = url?.href.startsWith(this.#base) ? url.href.slice(this.#base.length) : undefined;
    if (url === undefined || rest === undefined || !/^(\/|\?|$)/.test(rest))
      throw new TypeError(`the path of a request leads away from the API at ${this.host}`);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.append(name, String(value));
    return url;
  }

  #contentOf({ headers, json, form }: ApiRequest): { headers: Headers; body: string | null } {
    const all = new Headers(this.#headers);
    if (json !== undefined) all.set('content-type', 'application/json');
    if (form !== undefined) all.set('content-type', 'application/x-www-form-urlencoded');
    const text = form === undefined ? JSON.stringify(json) : new URLSearchParams(form).toString();
    return { headers: this.#headersOf(all, headers), body: text ?? null };
  }

  #headersOf(all: Headers, more: Readonly<Record<string, string>> = {}): Headers {
    for (const [name, value] of Object.entries(more))
      try {
        all.set(name, value);
      } catch {
        throw new TypeError(
          `a header of a request to ${this.host} has a name or a value that no header can have`,
        );
      }
    return all;
  }

  async #read(response: Response, maxBytes: number | undefined): Promise<ApiAnswer> {
    const { status, headers, body } = response;
    const limit = maxBytes ?? this.#options.maxAnswerBytes ?? MAX_ANSWER_BYTES;
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
      size += chunk.byteLength;
      if (size > limit)
        throw new RequestFault(`${this.host} answered ${status} with more than ${limit} bytes`, {
          kind: 'too-large',
          mayHaveArrived: true,
          status,
        });
      chunks.push(chunk);
    }
    return new ApiAnswer(status, headers, this.#cleaned(Buffer.concat(chunks), headers), this.host);
  }

  #cleaned(bytes: Buffer, headers: Headers): Buffer {
    if (this.#clean === undefined) return bytes;
    // Bytes that are no text keep their value this way.
    const text = bytes.toString('latin1');
    const isJson = /json/i.test(headers.get('content-type') ?? '') || /^\s*[[{]/.test(text);
    return Buffer.from(this.#clean(isJson ? plainJson(text) : text), 'latin1');
  }

  #faultOf(
    error: unknown,
    end: RequestEnd,
    timeoutMs: number,
    wasBegun: boolean,
    status?: number,
  ): RequestFault {
    if (error instanceof RequestFault) return error;
    if (!end.signal.aborted) return connectionFault(error, this.host, status);
    const details = { mayHaveArrived: wasBegun, status };
    return end.hasTimedOut
      ? new RequestFault(`${this.host} gave no answer within ${timeoutMs} ms`, {
          kind: 'timeout',
          ...details,
        })
      : new RequestFault(`the request to ${this.host} was given up`, { kind: 'aborted', ...details });
  }
}
