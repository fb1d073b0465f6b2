// Base class for the responses of both listener implementations, which only write bytes. This class ensures
// that each request gets exactly one response or abort (HS1, seam.ts), holds a response back until the
// request body is complete, and handles exceptions of the routes (HS2).

import type { BodyBudget } from '../body/body-budget.ts';
import type { IncomingBody } from '../body/incoming-body.ts';
import { Backlog } from './backlog.ts';
import { checkHeaders, checkStatus, JSON_HEADERS, plainError } from './framing.ts';
import { Reader, type Readers } from './readers.ts';
import type { Body, HeaderList, HttpReply, HttpStream } from './seam.ts';

/** The listener, which receives events from its replies. */
export interface ReplyOwner {
  /** Limit for slow readers. */
  readonly readers: Readers;
  /** Called when the response was sent completely, or the client has disconnected. */
  onSettled(): void;
  onFault(error: unknown): void;
}

/** Streamed response. */
interface ResponseStream extends HttpStream {
  /** Called when the client has disconnected. The response object can no longer be used. */
  abort(): void;
}

export abstract class Reply implements HttpReply {
  /** Request body, if any. */
  body: IncomingBody | undefined;
  readonly #owner: ReplyOwner;
  readonly #isHead: boolean;
  #state: 'fresh' | 'streaming' | 'done' = 'fresh';
  #isSettled = false;
  #onAbort: (() => void) | undefined;
  #onAnswered: ((status: number | undefined) => void) | undefined;
  #stream: ResponseStream | undefined;
  /** Unsent bytes when the client reads a complete response slowly. */
  #unsent: Backlog | undefined;
  #reader: Reader | undefined;

  constructor(isHead: boolean, owner: ReplyOwner) {
    this.#isHead = isHead;
    this.#owner = owner;
  }

  get isDone(): boolean {
    return this.#state === 'done';
  }

  get isHead(): boolean {
    return this.#isHead;
  }

  /** True if the response object of the HTTP server can no longer be used. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** True if the client has not received all bytes yet. */
  get isBehind(): boolean {
    return this.#unsent !== undefined || (this.#stream?.bufferedBytes ?? 0) > 0;
  }

  send(status: number, headers: HeaderList, body: Body = ''): void {
    if (this.#state !== 'fresh') return;
    checkStatus(status);
    const wantsClose = checkHeaders(headers);
    this.#state = 'done';
    this.#onAnswered?.(status);
    if (this.body === undefined || this.body.isComplete)
      this.writeResponse(status, headers, body, wantsClose);
    else this.body.hold((isComplete) => this.writeResponse(status, headers, body, wantsClose || !isComplete));
  }

  limitBody(budget: BodyBudget): void {
    this.body?.limit(budget);
  }

  stream(status: number, headers: HeaderList): HttpStream {
    if (this.#state === 'streaming') throw new TypeError('this request already has a streamed response');
    if (this.#state === 'fresh' && !this.#isHead) {
      checkStatus(status);
      const wantsClose = checkHeaders(headers);
      this.#state = 'streaming';
      this.#onAnswered?.(status);
      this.#stream = this.openStream(status, headers, wantsClose, this.#owner.readers);
      return this.#stream;
    }
    this.send(status, headers);
    return closedStream;
  }

  onAbort(listener: () => void): void {
    this.#onAbort = listener;
  }

  endStream(): void {
    if (this.#state !== 'streaming') return;
    const onAbort = this.#onAbort;
    this.#stream?.end();
    if (onAbort !== undefined) this.guard(onAbort);
  }

  onAnswered(listener: (status: number | undefined) => void): void {
    this.#onAnswered = listener;
  }

  /** Called if a handler has failed: responds with 500, or cuts the stream. */
  fail(): void {
    if (this.#state === 'streaming') this.destroy();
    else this.send(500, JSON_HEADERS, plainError(500, 'Internal error; see the log of the gateway.'));
  }

  /** Calls code of the routes. An exception is reported, and fails only this request. */
  guard(code: () => void): void {
    try {
      code();
    } catch (error) {
      this.onFault(error);
    }
  }

  /** Reports an exception of the routes and fails the request. */
  onFault(error: unknown): void {
    this.#owner.onFault(error);
    this.fail();
  }

  /** Closes the connection without notifying the routes. */
  destroy(): void {
    if (this.#isSettled) return;
    this.#state = 'done';
    this.closeConnection();
  }

  /** Closes a slow client's connection. The routes see a disconnect. */
  cutOff(): void {
    if (this.#isSettled) return;
    this.closeConnection();
    this.abort();
  }

  /** Called when the routes have closed the stream. The last bytes may still be unsent. */
  markDone(): void {
    this.#state = 'done';
  }

  /** Called after the last byte of the response, or when the client has disconnected. */
  settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    if (this.#reader !== undefined) this.#owner.readers.noteCaughtUp(this.#reader);
    this.#unsent?.clear();
    this.#owner.onSettled();
  }

  /** Called when the client has disconnected. */
  abort(): void {
    if (this.#isSettled) return;
    this.settle();
    this.#stream?.abort();
    this.body?.cancel();
    if (this.#state === 'done') return;
    if (this.#state === 'fresh') this.#onAnswered?.(undefined);
    this.#state = 'done';
    if (this.#onAbort !== undefined) this.guard(this.#onAbort);
  }

  /** Counts unsent pieces in the limit for slow readers, until the response is sent or aborted. */
  protected trackUnsent(pieces: readonly Uint8Array[]): void {
    const { readers } = this.#owner;
    this.#reader = new Reader(() => this.cutOff());
    this.#unsent = new Backlog(readers, this.#reader);
    for (const piece of pieces) {
      if (this.#unsent.push(piece)) continue;
      this.cutOff();
      return;
    }
    readers.noteBehind(this.#reader);
  }

  /** Called when a slow client has made progress. */
  protected noteProgress(): void {
    if (this.#reader !== undefined && !this.#isSettled) this.#owner.readers.noteBehind(this.#reader);
  }

  /**
   * Writes the complete response. `close`: the connection is closed afterwards. May be called after an abort.
   */
  protected abstract writeResponse(status: number, headers: HeaderList, body: Body, close: boolean): void;
  protected abstract openStream(
    status: number,
    headers: HeaderList,
    close: boolean,
    readers: Readers,
  ): ResponseStream;
  protected abstract closeConnection(): void;
}

/** Stream for a HEAD request, or for a disconnected client. It drops all bytes. */
const closedStream: HttpStream = {
  isDone: true,
  bufferedBytes: 0,
  write: () => true,
  onDrain: () => {},
  end: () => {},
  destroy: () => {},
};
