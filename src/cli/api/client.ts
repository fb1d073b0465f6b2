// HTTP client of the commands for the gateway's HTTP API. Converts failures to ApiProblem, whose
// message contains cause and remedy. Requests have a deadline, responses a size limit.

import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, Agent as TlsAgent } from 'node:https';
import { SseParser } from '../../../actors/mcp/links/sse/sse-parser.ts';
import { openProvenConnection, type ProvenConnection } from './proven-connection.ts';

export interface GatewayTarget {
  readonly url: URL;
  /** Source of the address, for messages; undefined if the user typed it. */
  readonly source?: string | undefined;
  readonly key: Key | undefined;
}

interface Key {
  readonly value: string;
  readonly source: string;
  /** True if the peer must first prove that it is the gateway of the state folder (operator-key.ts). */
  readonly needsProof?: boolean;
}

export interface ApiRequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface GatewayResponse {
  readonly status: number;
  readonly text: string;
  /** Parsed body; undefined unless it is JSON. */
  readonly body: unknown;
}

interface ErrorBody {
  /** An object in JSON-RPC errors, which MCP addresses return. */
  readonly error?: unknown;
  readonly message?: unknown;
  readonly stderr?: unknown;
  readonly problems?: unknown;
}

interface ApiProblemOptions {
  /** @default false */
  readonly isTransient?: boolean;
  readonly response?: GatewayResponse | undefined;
  readonly details?: readonly string[];
}

/** Failed request. The message is written for users; `details` are lines printed below it. */
export class ApiProblem extends Error {
  readonly response: GatewayResponse | undefined;
  readonly details: readonly string[];
  /** True if a retry may succeed, for example during a restart of the gateway. */
  readonly isTransient: boolean;

  constructor(message: string, { isTransient = false, response, details = [] }: ApiProblemOptions = {}) {
    super(message);
    this.isTransient = isTransient;
    this.response = response;
    this.details = details;
  }
}

/** Maximum response size. A list with a thousand servers has 400 kB. */
const MAX_BYTES = 64 * 1024 * 1024;

export class ApiClient {
  readonly #target: GatewayTarget;
  readonly #agent: Agent;

  constructor(target: GatewayTarget) {
    this.#target = target;
    // No keep-alive: the gateway may close an idle connection just before it is reused.
    const options = { keepAlive: false, maxSockets: 4 };
    this.#agent = target.url.protocol === 'https:' ? new TlsAgent(options) : new Agent(options);
  }

  /** Base URL, with no trailing slash. */
  get address(): string {
    return this.#target.url.href.replace(/\/$/, '');
  }

  /**
   * Returns a response with status 200, 201 or 202 and a JSON body, or with status 204. Rejects with an
   * ApiProblem, or with the signal's reason.
   */
  async request(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    timeoutMs: number,
    options: ApiRequestOptions = {},
  ): Promise<GatewayResponse> {
    const response = await this.#send(method, path, timeoutMs, options);
    if (response.status === 204) return response;
    const isSuccess = [200, 201, 202].includes(response.status);
    if (isSuccess && typeof response.body === 'object' && response.body !== null) return response;
    throw this.problemOf(response);
  }

  /**
   * Calls `onEvent` for each server-sent event until the stream closes. `timeoutMs` is the deadline for the
   * start of the stream. A silent stream is closed after SILENCE_MS. Rejects like `request` if the response
   * is not a stream.
   */
  async follow(
    method: 'GET' | 'POST',
    path: string,
    timeoutMs: number,
    options: ApiRequestOptions,
    onEvent: (name: string, data: unknown) => void,
  ): Promise<void> {
    const headers = { accept: 'text/event-stream', ...options.headers };
    const response = await this.#send(method, path, timeoutMs, { ...options, headers }, onEvent);
    if (response !== STREAM_END) throw this.problemOf(response);
  }

  /**
   * Returns the header with the key, for code that opens its own connections. Returns no header if the
   * gateway cannot prove its identity. Rejects with an ApiProblem.
   */
  async keyHeaders(timeoutMs: number, signal?: AbortSignal): Promise<Readonly<Record<string, string>>> {
    const { key } = this.#target;
    if (key?.needsProof !== true) return keyHeader(key);
    const connection = await this.#prove(key, timeoutMs, signal);
    connection?.close();
    return connection === undefined ? {} : keyHeader(key);
  }

  async #prove(key: Key, timeoutMs: number, signal?: AbortSignal): Promise<ProvenConnection | undefined> {
    const health = new URL(`${this.address}/health`);
    const deadline = AbortSignal.timeout(timeoutMs);
    const either = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
    try {
      return await openProvenConnection(health, key.value, either);
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw this.unreachableProblem(deadline.aborted ? new Error(TIMEOUT) : (error as Error), timeoutMs);
    }
  }

  #send(
    method: string,
    path: string,
    timeoutMs: number,
    options: ApiRequestOptions,
  ): Promise<GatewayResponse>;
  #send(
    method: string,
    path: string,
    timeoutMs: number,
    options: ApiRequestOptions,
    onEvent: (name: string, data: unknown) => void,
  ): Promise<GatewayResponse | typeof STREAM_END>;
  async #send(
    method: string,
    path: string,
    timeoutMs: number,
    options: ApiRequestOptions,
    onEvent?: (name: string, data: unknown) => void,
  ): Promise<GatewayResponse | typeof STREAM_END> {
    const { key } = this.#target;
    if (key?.needsProof !== true)
      return this.#sendOn(this.#agent, keyHeader(key), method, path, timeoutMs, options, onEvent);
    const connection = await this.#prove(key, timeoutMs, options.signal);
    if (connection === undefined)
      return this.#sendOn(this.#agent, {}, method, path, timeoutMs, options, onEvent);
    try {
      return await this.#sendOn(connection.agent, keyHeader(key), method, path, timeoutMs, options, onEvent);
    } finally {
      connection.close();
    }
  }

  #sendOn(
    agent: Agent,
    keyHeaders: Readonly<Record<string, string>>,
    method: string,
    path: string,
    timeoutMs: number,
    { signal, body, headers }: ApiRequestOptions,
    onEvent: ((name: string, data: unknown) => void) | undefined,
  ): Promise<GatewayResponse | typeof STREAM_END> {
    const { url } = this.#target;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    return new Promise((done, reject) => {
      const options = {
        method,
        agent,
        // Not built by URL, which would remove an id that consists of dots.
        path: `${url.pathname.replace(/\/$/, '')}/${path}`,
        headers: {
          accept: 'application/json',
          ...keyHeaders,
          ...(text === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(signal === undefined ? {} : { signal }),
      };
      const request: ClientRequest = send(url, options, (response) => {
        if (onEvent !== undefined && isStream(response)) {
          clearTimeout(deadline);
          streamEvents(request, response, onEvent, () => done(STREAM_END));
          return;
        }
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          size += chunk.length;
          if (size > MAX_BYTES) request.destroy(new Error(`the response is larger than ${MAX_BYTES} bytes`));
        });
        response.on('error', fail);
        response.on('end', () => {
          clearTimeout(deadline);
          const responseText = Buffer.concat(chunks).toString();
          done({ status: response.statusCode ?? 0, text: responseText, body: parseJson(responseText) });
        });
      });
      const deadline = setTimeout(() => request.destroy(new Error(TIMEOUT)), timeoutMs);
      const fail = (error: Error): void => {
        clearTimeout(deadline);
        reject(signal?.aborted === true ? error : this.unreachableProblem(error, timeoutMs));
      };
      request.on('error', fail);
      request.end(text);
    });
  }

  /** Returns the problem for a request that got no response. */
  unreachableProblem(error: Error, timeoutMs: number): ApiProblem {
    const { source } = this.#target;
    const address = source === undefined ? this.address : `${this.address} (${source})`;
    const { code } = error as { code?: string };
    const remedy = 'start the gateway, or set its address with --url or --config';
    if (code === 'ECONNREFUSED')
      return new ApiProblem(`no gateway listens at ${address}; ${remedy}`, { isTransient: true });
    if (code === 'EPROTO')
      return new ApiProblem(`${address} does not use TLS; the gateway itself listens at http://`, {
        isTransient: true,
      });
    if (error.message === TIMEOUT) {
      const seconds = timeoutMs / 1000;
      const text = `${address} has not responded within ${seconds} s; --timeout SECONDS waits longer`;
      return new ApiProblem(text, { isTransient: true });
    }
    return new ApiProblem(`${address} cannot be reached (${code ?? error.message}); ${remedy}`, {
      isTransient: true,
    });
  }

  /** Returns the problem for a response that is not a success. */
  problemOf(response: GatewayResponse): ApiProblem {
    const { status, body } = response;
    const { address } = this;
    const { key, url } = this.#target;
    const { error, stderr, problems, ...plain } = (body ?? {}) as ErrorBody;
    const { message } = typeof error === 'object' ? ((error ?? {}) as ErrorBody) : plain;
    const hint = status === 404 ? hintForMcp(url) : '';
    if (typeof message !== 'string') {
      const text = `${address} returned status ${status}, but not like a gateway`;
      return new ApiProblem(`${text}${hint || '; check the address'}`, {
        isTransient: status >= 500,
        response,
      });
    }
    if (status === 401 && /operator token/.test(message)) {
      const text = `${address} allows only its operator to do this; run the command as the gateway's user, or add --api-key-file FILE with the key or the operator token`;
      return new ApiProblem(text, { response });
    }
    if (status === 401) {
      const text = `${address} requires a key; set GATEWAY_API_KEY or add --api-key-file FILE`;
      return new ApiProblem(text, { response });
    }
    if (status === 403 && key !== undefined && /key/i.test(message))
      return new ApiProblem(`${address} refuses the key from ${key.source}`, { response });
    const details = [...prefixLines(stderr, 'stderr: '), ...prefixLines(problems, '')];
    return new ApiProblem(`${message}${hint}`, { isTransient: status >= 500, response, details });
  }
}

function keyHeader(key: Key | undefined): Readonly<Record<string, string>> {
  return key === undefined ? {} : { 'x-api-key': key.value };
}

/**
 * Returns a hint if --url is an address for MCP clients (`…/mcp`). Used only after a failed request, because
 * a reverse proxy may serve the API below such a path.
 */
function hintForMcp({ origin, pathname }: URL): string {
  const [, before] = /^(.*)\/mcp(?:\/[^/]*)?\/?$/.exec(pathname) ?? [];
  if (before === undefined) return '';
  return `; --url expects the gateway's base address; try ${origin}${before}, without /mcp`;
}

const TIMEOUT = 'timeout';
const STREAM_END = Symbol('streamed');
/** The gateway sends at least a comment every 15 seconds. */
const SILENCE_MS = 60_000;
const MAX_EVENT_BYTES = 16 * 1024 * 1024;

function isStream({ statusCode, headers }: IncomingMessage): boolean {
  return statusCode === 200 && headers['content-type']?.startsWith('text/event-stream') === true;
}

/** Parses events until the response is complete or fails, then calls `onEnd`. */
function streamEvents(
  request: ClientRequest,
  response: IncomingMessage,
  onEvent: (name: string, data: unknown) => void,
  onEnd: () => void,
): void {
  const parser = new SseParser(
    MAX_EVENT_BYTES,
    { lastEventId: '', retryMs: undefined },
    { onEvent: (name, data) => onEvent(name, parseJson(data.toString('utf8'))), onOversizedEvent: () => {} },
  );
  response.on('data', (chunk: Buffer) => parser.feed(chunk));
  response.on('error', () => {});
  response.on('close', onEnd);
  request.on('error', onEnd);
  request.setTimeout(SILENCE_MS, () => request.destroy());
}

function prefixLines(list: unknown, prefix: string): string[] {
  return Array.isArray(list) ? list.map((line) => `${prefix}${String(line)}`) : [];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
