// The part of an answer that both fillings share: the states that make it end exactly once (HS1), the wait for a body
// that is still coming, and the barrier for what handlers throw (HS2). The fillings only write bytes.

import type { BodyBudget } from '../body/body-budget.ts';
import type { IncomingBody } from '../body/incoming-body.ts';
import { Backlog } from './backlog.ts';
import { checkHeaders, checkStatus, JSON_HEADERS, plainError } from './framing.ts';
import { Reader, type Readers } from './readers.ts';
import type { Body, HeaderList, HttpReply, HttpStream } from './seam.ts';

/** What the replies of one listener report to it. */
export interface ReplyOwner {
  /** Of all listeners together. */
  readonly readers: Readers;
  /** The answer has wholly left, or the client has gone. */
  onSettled(): void;
  onFault(error: unknown): void;
}

/** A streamed answer that ends when its client leaves. */
interface StreamedAnswer extends HttpStream {
  /** The client has left: the response must not be touched any more. */
  abort(): void;
}

export abstract class Reply implements HttpReply {
  /** The body of the request, while it has one. */
  body: IncomingBody | undefined;
  readonly #owner: ReplyOwner;
  readonly #isHead: boolean;
  #state: 'fresh' | 'streaming' | 'done' = 'fresh';
  #isSettled = false;
  #onAbort: (() => void) | undefined;
  #stream: StreamedAnswer | undefined;
  /** The answer, while its client takes it bit by bit. */
  #kept: Backlog | undefined;
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

  /** From here on the response of the server beneath must not be touched. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** The client has not taken all that it was given. */
  get isBehind(): boolean {
    return this.#kept !== undefined || (this.#stream?.bufferedBytes ?? 0) > 0;
  }

  send(status: number, headers: HeaderList, body: Body = ''): void {
    if (this.#state !== 'fresh') return;
    checkStatus(status);
    const wantsClose = checkHeaders(headers);
    this.#state = 'done';
    if (this.body === undefined || this.body.isIn) this.answer(status, headers, body, wantsClose);
    else this.body.hold((isIn) => this.answer(status, headers, body, wantsClose || !isIn));
  }

  limitBody(budget: BodyBudget): void {
    this.body?.limit(budget);
  }

  stream(status: number, headers: HeaderList): HttpStream {
    if (this.#state === 'streaming') throw new TypeError('this request has a streamed answer already');
    if (this.#state === 'fresh' && !this.#isHead) {
      checkStatus(status);
      const wantsClose = checkHeaders(headers);
      this.#state = 'streaming';
      this.#stream = this.begin(status, headers, wantsClose, this.#owner.readers);
      return this.#stream;
    }
    this.send(status, headers);
    return closedStream;
  }

  onAbort(listener: () => void): void {
    this.#onAbort = listener;
  }

  /** Answers for a handler that failed: 500, or a cut stream. */
  fail(): void {
    if (this.#state === 'streaming') this.destroy();
    else
      this.send(
        500,
        JSON_HEADERS,
        plainError(500, 'The request failed inside the gateway; its log says why.'),
      );
  }

  /** Runs code of the routes; what it throws is reported, and ends this request only. */
  guard(code: () => void): void {
    try {
      code();
    } catch (error) {
      this.onFault(error);
    }
  }

  /** Code of the routes has thrown. */
  onFault(error: unknown): void {
    this.#owner.onFault(error);
    this.fail();
  }

  /** Cuts the connection without telling the routes. */
  destroy(): void {
    if (this.#isSettled) return;
    this.#state = 'done';
    this.cut();
  }

  /** Cuts off a client that does not take what it is sent; for the routes it has left. */
  giveUp(): void {
    if (this.#isSettled) return;
    this.cut();
    this.abort();
  }

  /** The routes have ended the stream; its last bytes may still be under way. */
  markDone(): void {
    this.#state = 'done';
  }

  /** The last byte was handed over. */
  settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    if (this.#reader !== undefined) this.#owner.readers.noteCaughtUp(this.#reader);
    this.#kept?.clear();
    this.#owner.onSettled();
  }

  /** The client has gone, or the connection was cut. */
  abort(): void {
    if (this.#isSettled) return;
    this.settle();
    this.#stream?.abort();
    this.body?.cancel();
    if (this.#state === 'done') return;
    this.#state = 'done';
    if (this.#onAbort !== undefined) this.guard(this.#onAbort);
  }

  /** The client has not taken an answer at once: until it is settled that waits, or the client is cut off. */
  protected keep(pieces: readonly Uint8Array[]): void {
    const { readers } = this.#owner;
    this.#reader = new Reader(() => this.giveUp());
    this.#kept = new Backlog(readers, this.#reader);
    for (const piece of pieces) {
      if (this.#kept.push(piece)) continue;
      this.giveUp();
      return;
    }
    readers.noteBehind(this.#reader);
  }

  /** The client has taken some of it. */
  protected onTaken(): void {
    if (this.#reader !== undefined && !this.#isSettled) this.#owner.readers.noteBehind(this.#reader);
  }

  /** Writes the whole answer, and closes the connection after it when `close` is set. May come after an abort. */
  protected abstract answer(status: number, headers: HeaderList, body: Body, close: boolean): void;
  protected abstract begin(
    status: number,
    headers: HeaderList,
    close: boolean,
    readers: Readers,
  ): StreamedAnswer;
  protected abstract cut(): void;
}

/** The stream of a HEAD request, and of a client that has gone already. */
const closedStream: HttpStream = {
  isDone: true,
  bufferedBytes: 0,
  write: () => true,
  onDrain: () => {},
  end: () => {},
  destroy: () => {},
};
