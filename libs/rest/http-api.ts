// HTTP client for a platform's API, based on fetch. Stateless except for fetch's connections: rate limits,
// retries and the meaning of statuses are up to the caller. Every request has a deadline, which includes
// reading the response, and responses have a maximum size.
//
// A request goes only to an address below the base URL. By default, a redirect is returned like any response.
// With `redirects: 'same-origin'` it is followed within the origin of the base URL, so configured headers
// never reach another origin; for writes only if the redirect keeps method and body. Requests are never
// repeated.
//
// Every failure is a RequestFault without secrets; configured secrets are also removed from response
//      bodies.

import manifest from '../../package.json' with { type: 'json' };
import type { Fetch } from './checked-fetch.ts';
import { isTooDeep } from './json-depth.ts';
import { abortOverdueWork } from './process-suspension.ts';
import { proxyFor } from './proxy.ts';
import { nextAddress } from './redirect.ts';
import { connectionFault, RequestFault } from './request-fault.ts';
import { retryAfterMs } from './retry-after.ts';
import { type Clean, plainJson, secretRemover } from './without-secrets.ts';

/** Removes a byte order mark, unlike Buffer.toString. */
const utf8 = new TextDecoder();

/** A complete response. Error statuses are responses too: the platform's adapter interprets them. */
export class ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Decompressed body without secrets. */
  readonly bytes: Buffer;
  /** Host of the request; empty if unknown. */
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

  /** Body without a byte order mark. */
  get text(): string {
    return utf8.decode(this.bytes);
  }

  /**
   * Returns the body as JSON, regardless of the declared type; undefined for other bodies, for example a
   * proxy's error page. Integers beyond the safe range are returned as strings, because they are ids.
   */
  get json(): unknown {
    this.#json ??= { value: parseJson(this.text) };
    return this.#json.value;
  }

  /** True for JSON that is nested too deeply; `json` is then undefined. */
  get isTooDeep(): boolean {
    return this.json === undefined && /^\s*[[{]/.test(this.text) && isTooDeep(this.text);
  }

  /** Pause from `Retry-After`, in milliseconds. */
  get retryAfterMs(): number | undefined {
    return retryAfterMs(this.headers);
  }
}

/** Returns undefined for invalid JSON, and for JSON that is nested too deeply. */
function parseJson(text: string): unknown {
  if (isTooDeep(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return HAS_LARGE.test(text) ? JSON.parse(text.replace(STRING_OR_LARGE, quoteLarge)) : value;
  } catch {
    return undefined;
  }
}

/** May match an integer beyond the safe range. */
const HAS_LARGE = /[:[,\s]-?\d{16}/;
const STRING_OR_LARGE = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/** Quotes an integer beyond the safe range; strings and safe integers are unchanged. */
function quoteLarge(found: string): string {
  return found.startsWith('"') || Number.isSafeInteger(Number(found)) ? found : `"${found}"`;
}

/**
 * Aborts a request at its deadline or by the caller's signal. The caller calls `clear` after the request, to
 * remove the listeners. `AbortSignal.any` would leak a listener per request on a long-lived signal, for
 * example of a connection.
 */
export class RequestAbort {
  readonly #controller = new AbortController();
  readonly #callerSignal: AbortSignal | undefined;
  readonly #deadline: AbortSignal;

  constructor(timeoutMs: number, callerSignal: AbortSignal | undefined) {
    this.#callerSignal = callerSignal;
    // Timers accept whole milliseconds only.
    this.#deadline = AbortSignal.timeout(Math.ceil(timeoutMs));
    this.#deadline.addEventListener('abort', this.abort, { once: true });
    if (callerSignal?.aborted) this.abort();
    else callerSignal?.addEventListener('abort', this.abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** True if the deadline has aborted the request, and not the caller. */
  get hasTimedOut(): boolean {
    return this.#deadline.aborted && this.#callerSignal?.aborted !== true;
  }

  clear(): void {
    this.#deadline.removeEventListener('abort', this.abort);
    this.#callerSignal?.removeEventListener('abort', this.abort);
  }

  readonly abort = (): void => this.#controller.abort();
}

const AGENT = `actor-gateway/${manifest.version}`;
const TIMEOUT_MS = 20_000;
const MAX_ANSWER_BYTES = 4_194_304;

export interface HttpApiOptions {
  /**
   * http or https, without user name, query and fragment; with or without trailing slashes. A path is kept.
   */
  readonly baseUrl: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Timeout per request, from the connection to the end of the response. @default 20000 */
  readonly timeoutMs?: number;
  /** Maximum size after decompression. @default 4 MiB */
  readonly maxAnswerBytes?: number;
  /** @default 'never' */
  readonly redirects?: 'never' | 'same-origin';
  /** Removed from every response: values sent in headers, addresses or bodies that are secret. */
  readonly secrets?: readonly string[];
  /** Sends requests and followed redirects. @default fetch */
  readonly fetch?: Fetch;
}

export interface ApiRequest {
  /** @default 'GET' */
  readonly method?: string;
  /** Path below the base, with a leading slash and encoded parts (`path.ts`). */
  readonly path: string;
  /** Query parameters; undefined values are omitted. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body: a value that is sent as JSON, or the fields of a form. */
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
  readonly maxAnswerBytes?: number;
}

interface AbortDetails {
  readonly timeoutMs: number;
  readonly isStarted: boolean;
  readonly status: number | undefined;
  readonly proxy: URL | undefined;
}

const through = (proxy: URL | undefined) => (proxy === undefined ? '' : ` through the proxy ${proxy.host}`);

export class HttpApi {
  /** Host name and port. */
  readonly host: string;
  readonly #base: string;
  readonly #headers: Headers;
  readonly #options: HttpApiOptions;
  readonly #clean: Clean | undefined;

  /** Throws a TypeError if the address or a header is invalid; the message does not contain them. */
  constructor(options: HttpApiOptions) {
    const { baseUrl, headers, secrets = [] } = options;
    const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol))
      throw new TypeError('the address of the API must use http or https');
    this.host = url.host;
    if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
      throw new TypeError(
        `the address of the API at ${this.host} must not have a user name, a query or a fragment`,
      );
    this.#base = url.href.replace(/\/+$/, '');
    this.#headers = this.#headersOf(
      new Headers({ accept: 'application/json', 'user-agent': AGENT }),
      headers,
    );
    this.#options = options;
    this.#clean = secrets.length === 0 ? undefined : secretRemover(secrets);
  }

  /**
   * Returns the response with any status. Rejects with a RequestFault, or with a TypeError for an invalid
   * request.
   */
  async request(request: ApiRequest): Promise<ApiResponse> {
    const { method = 'GET', timeoutMs = this.#options.timeoutMs ?? TIMEOUT_MS, maxAnswerBytes } = request;
    const { headers, body } = this.#contentOf(request);
    const follows = this.#options.redirects === 'same-origin';
    const send = this.#options.fetch ?? fetch;
    const isWrite = method !== 'GET' && method !== 'HEAD';
    let url = this.#addressOf(request);
    const abort = new RequestAbort(timeoutMs, request.signal);
    let response: Response | undefined;
    let isStarted = false;
    try {
      for (let count = 0; ; count++) {
        // After a process suspension the deadline may have passed before its timer fires.
        abortOverdueWork();
        abort.signal.throwIfAborted();
        isStarted = true;
        response = await send(url, { method, headers, body, redirect: 'manual', signal: abort.signal });
        const next = follows ? nextAddress(response, { from: url, isWrite, count }) : undefined;
        if (next === undefined) return await this.#read(response, maxAnswerBytes);
        await response.body?.cancel();
        url = next;
        response = undefined;
      }
    } catch (error) {
      // A fetch of the caller connects directly.
      const proxy = this.#options.fetch === undefined ? proxyFor(url) : undefined;
      const fault = this.#faultOf(error, abort, { timeoutMs, isStarted, status: response?.status, proxy });
      // The rest of the response is not read; close the connection.
      abort.abort();
      throw fault;
    } finally {
      abort.clear();
    }
  }

  #addressOf({ path, query = {} }: ApiRequest): URL {
    const text = this.#base + path;
    const url = URL.canParse(text) ? new URL(text) : undefined;
    // The parsed path has no `..` in any notation.
    const rest = url?.href.startsWith(this.#base) ? url.href.slice(this.#base.length) : undefined;
    if (url === undefined || rest === undefined || !/^(\/|\?|$)/.test(rest))
      throw new TypeError(`the request path leaves the API at ${this.host}`);
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
        throw new TypeError(`invalid header name or value in a request to ${this.host}`);
      }
    return all;
  }

  async #read(response: Response, maxBytes: number | undefined): Promise<ApiResponse> {
    const { status, headers, body } = response;
    const limit = maxBytes ?? this.#options.maxAnswerBytes ?? MAX_ANSWER_BYTES;
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
      size += chunk.byteLength;
      if (size > limit)
        throw new RequestFault(`the response of ${this.host} (${status}) exceeds ${limit} bytes`, {
          kind: 'too-large',
          mayHaveArrived: true,
          status,
        });
      chunks.push(chunk);
    }
    return new ApiResponse(status, headers, this.#cleaned(Buffer.concat(chunks), headers), this.host);
  }

  #cleaned(bytes: Buffer, headers: Headers): Buffer {
    if (this.#clean === undefined) return bytes;
    // latin1 preserves bytes that are not text.
    const text = bytes.toString('latin1');
    const isJson = /json/i.test(headers.get('content-type') ?? '') || /^\s*[[{]/.test(text);
    // In JSON, escapes may hide a secret: `plainJson` removes them.
    return Buffer.from(this.#clean(isJson ? plainJson(text) : text), 'latin1');
  }

  #faultOf(
    error: unknown,
    abort: RequestAbort,
    { timeoutMs, isStarted, status, proxy }: AbortDetails,
  ): RequestFault {
    if (error instanceof RequestFault) return error;
    if (!abort.signal.aborted) return connectionFault(error, this.host, status);
    const details = { mayHaveArrived: isStarted, status };
    return abort.hasTimedOut
      ? new RequestFault(`${this.host} did not respond within ${timeoutMs} ms${through(proxy)}`, {
          kind: 'timeout',
          ...details,
        })
      : new RequestFault(`the request to ${this.host} was aborted`, { kind: 'aborted', ...details });
  }
}
