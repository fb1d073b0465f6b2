// Asks a running gateway over its HTTP API, and says in plain words why there is no good answer: what happened, where,
// and what to do. Each request has a deadline, and an answer has a bound.

import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, Agent as TlsAgent } from 'node:https';
import { SseParser } from '../../../actors/mcp/links/sse/sse-parser.ts';
import { openProvenConnection, type ProvenConnection } from './proven-connection.ts';

export interface Target {
  readonly url: URL;
  /** Where the address is from, unless whoever asks has given it. */
  readonly source?: string | undefined;
  readonly key: Key | undefined;
}

interface Key {
  readonly value: string;
  readonly source: string;
  /** Sent only to a peer that proves to be the gateway of the state folder. */
  readonly needsProof?: boolean;
}

export interface AskOptions {
  readonly signal?: AbortSignal;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ApiResponse {
  readonly status: number;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly body: unknown;
}

interface ErrorBody {
  /** Object in the JSON-RPC errors of MCP addresses. */
  readonly error?: unknown;
  readonly message?: unknown;
  readonly stderr?: unknown;
  readonly problems?: unknown;
}

/** Why a command has no good answer. The message is a sentence for people; `details` are lines that belong to it. */
export class ApiProblem extends Error {
  readonly answer: ApiResponse | undefined;
  readonly details: readonly string[];
  /** It may be otherwise in a second, as while a gateway restarts. */
  readonly isPassing: boolean;

  constructor(message: string, isPassing: boolean, answer?: ApiResponse, details: readonly string[] = []) {
    super(message);
    this.isPassing = isPassing;
    this.answer = answer;
    this.details = details;
  }
}

/** The largest answer that is read; a thousand servers take 400 kB. */
const MAX_BYTES = 64 * 1024 * 1024;

export class ApiClient {
  readonly #target: Target;
  readonly #agent: Agent;

  constructor(target: Target) {
    this.#target = target;
    // A connection of its own for each request: a kept one may have been closed just when it is used again.
    const options = { keepAlive: false, maxSockets: 4 };
    this.#agent = target.url.protocol === 'https:' ? new TlsAgent(options) : new Agent(options);
  }

  /** Where the gateway is, without a slash at the end. */
  get address(): string {
    return this.#target.url.href.replace(/\/$/, '');
  }

  /** A good answer, 200 or 202 and JSON. Rejects with an ApiProblem, and with the reason of the signal when that is aborted. */
  async ask(
    method: 'GET' | 'POST',
    path: string,
    timeoutMs: number,
    options: AskOptions = {},
  ): Promise<ApiResponse> {
    const answer = await this.#send(method, path, timeoutMs, options);
    const isGood = answer.status === 200 || answer.status === 202;
    if (isGood && typeof answer.body === 'object' && answer.body !== null) return answer;
    throw this.refusal(answer);
  }

  /**
   * Calls `onEvent` with each event of a stream until it ends, or is cut. `timeoutMs` is for its beginning; one that is silent
   * for longer than any gateway leaves it is cut. Rejects like `ask` where there is no stream.
   */
  async follow(
    method: 'GET' | 'POST',
    path: string,
    timeoutMs: number,
    options: AskOptions,
    onEvent: (name: string, data: unknown) => void,
  ): Promise<void> {
    const headers = { accept: 'text/event-stream', ...options.headers };
    const answer = await this.#send(method, path, timeoutMs, { ...options, headers }, onEvent);
    if (answer !== STREAMED) throw this.refusal(answer);
  }

  /**
   * Returns the header with the key, for a client with connections of its own; no header without a valid proof. Rejects with
   * an ApiProblem.
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
      throw this.unreachable(deadline.aborted ? new Error(TIMEOUT) : (error as Error), timeoutMs);
    }
  }

  #send(method: string, path: string, timeoutMs: number, options: AskOptions): Promise<ApiResponse>;
  #send(
    method: string,
    path: string,
    timeoutMs: number,
    options: AskOptions,
    onEvent: (name: string, data: unknown) => void,
  ): Promise<ApiResponse | typeof STREAMED>;
  async #send(
    method: string,
    path: string,
    timeoutMs: number,
    options: AskOptions,
    onEvent?: (name: string, data: unknown) => void,
  ): Promise<ApiResponse | typeof STREAMED> {
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
    { signal, body, headers }: AskOptions,
    onEvent: ((name: string, data: unknown) => void) | undefined,
  ): Promise<ApiResponse | typeof STREAMED> {
    const { url } = this.#target;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    return new Promise((done, reject) => {
      const options = {
        method,
        agent,
        // An id of dots would be taken out of a URL.
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
          readEvents(request, response, onEvent, () => done(STREAMED));
          return;
        }
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          size += chunk.length;
          if (size > MAX_BYTES) request.destroy(new Error(`the answer is larger than ${MAX_BYTES} bytes`));
        });
        response.on('error', fail);
        response.on('end', () => {
          clearTimeout(deadline);
          const received = Buffer.concat(chunks).toString();
          done({ status: response.statusCode ?? 0, text: received, body: parsed(received) });
        });
      });
      const deadline = setTimeout(() => request.destroy(new Error(TIMEOUT)), timeoutMs);
      const fail = (error: Error): void => {
        clearTimeout(deadline);
        reject(signal?.aborted === true ? error : this.unreachable(error, timeoutMs));
      };
      request.on('error', fail);
      request.end(text);
    });
  }

  /** Why there is no answer at all. */
  unreachable(error: Error, timeoutMs: number): ApiProblem {
    const { source } = this.#target;
    const address = source === undefined ? this.address : `${this.address} (${source})`;
    const { code } = error as { code?: string };
    const cure = 'start the gateway, or say where it is with --url or --config';
    if (code === 'ECONNREFUSED') return new ApiProblem(`nobody listens at ${address}; ${cure}`, true);
    if (code === 'EPROTO')
      return new ApiProblem(`${address} speaks no TLS; the gateway itself listens at http://`, true);
    if (error.message === TIMEOUT) {
      const seconds = timeoutMs / 1000;
      const text = `${address} has not answered within ${seconds} s; --timeout SECONDS waits longer`;
      return new ApiProblem(text, true);
    }
    return new ApiProblem(`${address} cannot be reached (${code ?? error.message}); ${cure}`, true);
  }

  /** Why an answer is no good one. */
  refusal(answer: ApiResponse): ApiProblem {
    const { status, body } = answer;
    const { address } = this;
    const { key, url } = this.#target;
    const { error, stderr, problems, ...plain } = (body ?? {}) as ErrorBody;
    const { message } = typeof error === 'object' ? ((error ?? {}) as ErrorBody) : plain;
    const hint = status === 404 ? hintForMcp(url) : '';
    if (typeof message !== 'string') {
      const text = `${address} answered ${status}, but not as a gateway does`;
      return new ApiProblem(`${text}${hint || '; is the address right?'}`, status >= 500, answer);
    }
    if (status === 401 && /operator token/.test(message)) {
      const text = `${address} lets only its operator do this; run the command as the gateway's user, or give --api-key-file FILE with the key or the operator token`;
      return new ApiProblem(text, false, answer);
    }
    if (status === 401) {
      const text = `${address} asks for a key; give it in GATEWAY_API_KEY, or by --api-key-file FILE`;
      return new ApiProblem(text, false, answer);
    }
    if (status === 403 && key !== undefined && /key/i.test(message))
      return new ApiProblem(`${address} refuses the key from ${key.source}`, false, answer);
    const details = [...lines(stderr, 'stderr: '), ...lines(problems, '')];
    return new ApiProblem(`${message}${hint}`, status >= 500, answer, details);
  }
}

function keyHeader(key: Key | undefined): Readonly<Record<string, string>> {
  return key === undefined ? {} : { 'x-api-key': key.value };
}

/** For the address that MCP clients are given. Only once it has failed: a path before the gateway's own may end so too. */
function hintForMcp({ origin, pathname }: URL): string {
  const [, before] = /^(.*)\/mcp(?:\/[^/]*)?\/?$/.exec(pathname) ?? [];
  if (before === undefined) return '';
  return `; --url is the gateway's own address: is it ${origin}${before}, without /mcp?`;
}

const TIMEOUT = 'timeout';
const STREAMED = Symbol('streamed');
/** A gateway says something every 15 seconds. */
const SILENCE_MS = 60_000;
const MAX_EVENT_BYTES = 16 * 1024 * 1024;

function isStream({ statusCode, headers }: IncomingMessage): boolean {
  return statusCode === 200 && headers['content-type']?.startsWith('text/event-stream') === true;
}

/** Until it has ended, in whatever way. */
function readEvents(
  request: ClientRequest,
  response: IncomingMessage,
  onEvent: (name: string, data: unknown) => void,
  onEnd: () => void,
): void {
  const parser = new SseParser(
    MAX_EVENT_BYTES,
    { lastEventId: '', retryMs: undefined },
    { onEvent: (name, data) => onEvent(name, parsed(data.toString('utf8'))), onOversizedEvent: () => {} },
  );
  response.on('data', (chunk: Buffer) => parser.feed(chunk));
  response.on('error', () => {});
  response.on('close', onEnd);
  request.on('error', onEnd);
  request.setTimeout(SILENCE_MS, () => request.destroy());
}

function lines(list: unknown, prefix: string): string[] {
  return Array.isArray(list) ? list.map((line) => `${prefix}${String(line)}`) : [];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
