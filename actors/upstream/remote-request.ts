// One HTTP exchange with a remote server: a request, and the answer as it comes. It ends in exactly one of
// `onEnd`, `onRefused` and `onFailed`, and after `destroy` in none. No redirect is followed and no proxy variable
// is read. There is no deadline for the answer, which is the caller's matter, but one for the connection and
// one for the body of a refusal, for which nobody else waits.

import { type Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { GatewayError } from '../errors.ts';
import { PacedReader, type ReadingTurn } from './paced-reader.ts';
import { networkError, protocolError, type Redactor, type Refusal } from './remote-errors.ts';

/** A peer that vanished without a word is found out by the operating system after this silence. */
const TCP_KEEP_ALIVE_MS = 15_000;
const REFUSAL_BODY_MS = 2_000;
const REFUSAL_BODY_BYTES = 65_536;

export interface RemoteRequestOptions {
  readonly url: URL;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
  readonly agent: Agent;
  readonly connectTimeoutMs: number;
  readonly redactor: Redactor;
  /** The request holds no socket any more. Always called, once. */
  readonly onClose: () => void;
}

export interface RemoteHandler {
  /** The head of a 2xx answer; its body follows. */
  onAccepted(response: IncomingMessage): void;
  /** Gives how many bytes it has taken: all of them, unless `turn` is over before; the rest comes again. */
  onData(chunk: Buffer, turn: ReadingTurn | undefined): number;
  onEnd(): void;
  onRefused(refusal: Refusal): void;
  /** No answer, or half of one. `wasSent: false`: the server got nothing of the request. */
  onFailed(error: GatewayError, wasSent: boolean): void;
}

export class RemoteRequest {
  /** Bytes of the body that the operating system has not taken yet. */
  unsentBytes: number;

  readonly #options: RemoteRequestOptions;
  readonly #handler: RemoteHandler;
  #request: ClientRequest | undefined;
  #reader: PacedReader | undefined;
  #wasSent = false;
  #hasAnswer = false;
  #isOver = false;
  #isComplete = false;
  #timer: NodeJS.Timeout | undefined;
  #deadlineTimer: NodeJS.Timeout | undefined;
  #lastError: Error | undefined;

  constructor(options: RemoteRequestOptions, handler: RemoteHandler) {
    this.#options = options;
    this.#handler = handler;
    this.unsentBytes = options.body?.length ?? 0;
    try {
      this.#start();
    } catch (error) {
      // A header value that Node does not let through. Reported later, as every other failure is (L4).
      queueMicrotask(() => {
        this.#lastError = error instanceof Error ? error : new Error(String(error));
        this.#fail();
        this.#close();
      });
    }
  }

  /** Gives up the exchange and its socket; one that is complete has given its socket back already. */
  destroy(): void {
    this.#isOver = true;
    this.#reader?.drop();
    this.#clearTimers();
    if (!this.#isComplete) this.#request?.destroy();
  }

  /** The exchange fails unless it is over this long from now; a second call replaces the first. */
  setDeadline(ms: number): void {
    if (this.#isOver) return;
    clearTimeout(this.#deadlineTimer);
    this.#deadlineTimer = setTimeout(() => {
      this.#request?.destroy(new Error(`not complete within ${ms} ms`));
    }, ms);
  }

  #start(): void {
    const { url, method, body, agent, connectTimeoutMs } = this.#options;
    const headers: Record<string, string> = { ...this.#options.headers };
    if (body !== undefined) headers['content-length'] = String(body.length);
    const start = url.protocol === 'https:' ? requestHttps : requestHttp;
    const request = start(url, { method, headers, agent });
    this.#request = request;
    this.#timer = setTimeout(() => {
      request.destroy(new Error(`no connection within ${connectTimeoutMs} ms`));
    }, connectTimeoutMs);
    request.on('socket', (socket) => this.#onSocket(socket));
    request.on('finish', () => {
      this.unsentBytes = 0;
    });
    request.on('response', (response) => this.#onResponse(response));
    request.on('error', (error) => {
      this.#lastError ??= error;
    });
    request.on('close', () => {
      // With an answer under way its own 'close' tells how it ended, and may come later than this one.
      if (!this.#hasAnswer) this.#fail();
      this.#close();
    });
    request.end(body);
  }

  #close(): void {
    this.#clearTimers();
    this.unsentBytes = 0;
    this.#options.onClose();
  }

  #onSocket(socket: Socket): void {
    const connected = (): void => {
      clearTimeout(this.#timer);
      this.#wasSent = true;
    };
    socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS);
    if (isConnected(socket)) connected();
    else socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', connected);
  }

  #onResponse(response: IncomingMessage): void {
    clearTimeout(this.#timer);
    this.#hasAnswer = true;
    response.on('error', (error) => {
      this.#lastError ??= error;
    });
    if (this.#isOver) return;
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 299) {
      this.#onRefusal(response, status);
      return;
    }
    const coding = response.headers['content-encoding'] ?? 'identity';
    if (coding !== 'identity') {
      const { url, redactor } = this.#options;
      const error = protocolError(url, `answered in the coding ${coding}, which was not asked for`, redactor);
      this.#finish(() => this.#handler.onFailed(error, true));
      this.destroy();
      return;
    }
    this.#handler.onAccepted(response);
    const reader = new PacedReader(response, (chunk, turn) => this.#handler.onData(chunk, turn));
    this.#reader = reader;
    response.on('data', (chunk: Buffer) => {
      if (!this.#isOver) reader.push(chunk);
    });
    response.on('end', () => {
      // An answer to half a request: the rest of it must not be taken for the next one on this socket.
      if (this.#request?.writableFinished === false) this.#request.destroy();
      this.#isComplete = true;
      reader.end(() => this.#finish(() => this.#handler.onEnd()));
    });
    response.on('close', () => {
      if (this.#isComplete) return;
      // It may break off while the rest of it waits for its turn.
      if (!this.#isOver) reader.flush();
      this.#fail();
    });
  }

  #onRefusal(response: IncomingMessage, status: number): void {
    const { url, method } = this.#options;
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (isWhole: boolean): void => {
      if (!isWhole || this.#request?.writableFinished === false) this.#request?.destroy();
      this.#isComplete = true;
      const body = Buffer.concat(chunks).subarray(0, REFUSAL_BODY_BYTES);
      const { headers, statusMessage: reason = '' } = response;
      this.#finish(() => this.#handler.onRefused({ method, url, status, reason, headers, body, isWhole }));
    };
    this.#timer = setTimeout(() => settle(false), REFUSAL_BODY_MS);
    response.on('data', (chunk: Buffer) => {
      if (this.#isOver) return;
      size += chunk.length;
      chunks.push(chunk);
      if (size > REFUSAL_BODY_BYTES) settle(false);
    });
    response.on('end', () => settle(true));
    // A body that breaks off is still a refusal.
    response.on('close', () => settle(false));
  }

  #fail(): void {
    const { url, redactor } = this.#options;
    const error = this.#lastError ?? new Error('the connection was closed');
    this.#finish(() =>
      this.#handler.onFailed(networkError(url, error, this.#wasSent, redactor), this.#wasSent),
    );
  }

  #finish(report: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#clearTimers();
    report();
  }

  #clearTimers(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#deadlineTimer);
  }
}

/** A pooled socket may still be connecting: the request it was made for was given up. */
function isConnected(socket: Socket): boolean {
  if (socket.connecting) return false;
  if (!(socket instanceof TLSSocket)) return true;
  const protocol = socket.getProtocol();
  return protocol !== null && protocol !== 'unknown';
}
