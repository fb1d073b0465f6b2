// What the answers of both fillings have in common: the states that make an answer end exactly once (H1), the wait
// for a body that is still coming, and the barrier for what handlers throw (H2). The fillings only write bytes.

import { checkHeaders, checkStatus, JSON_HEADERS, plainError } from './framing.ts';
import type { IncomingBody } from './incoming-body.ts';
import type { Body, HeaderList, HttpReply, HttpStream } from './seam.ts';

/** What the replies of one listener report to it. */
export interface ReplyOwner {
  /** The answer has wholly left, or the client has gone. */
  onSettled(): void;
  onFault(error: unknown): void;
}

export abstract class Reply implements HttpReply {
  /** Set while the request has a body. */
  body: IncomingBody | undefined;
  readonly #owner: ReplyOwner;
  readonly #isHead: boolean;
  #state: 'fresh' | 'streaming' | 'done' = 'fresh';
  #isSettled = false;
  #onAbort: (() => void) | undefined;

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

  send(status: number, headers: HeaderList, body: Body = ''): void {
    if (this.#state !== 'fresh') return;
    checkStatus(status);
    const wantsClose = checkHeaders(headers);
    this.#state = 'done';
    if (this.body === undefined || this.body.isIn) this.answer(status, headers, body, wantsClose);
    else this.body.hold((isIn) => this.answer(status, headers, body, wantsClose || !isIn));
  }

  stream(status: number, headers: HeaderList): HttpStream {
    if (this.#state === 'streaming') throw new TypeError('this request has a streamed answer already');
    if (this.#state === 'fresh' && !this.#isHead) {
      checkStatus(status);
      const wantsClose = checkHeaders(headers);
      this.#state = 'streaming';
      return this.begin(status, headers, wantsClose);
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

  /** Cuts the connection, without telling the routes. */
  destroy(): void {
    if (this.#isSettled) return;
    this.#state = 'done';
    this.cut();
  }

  /** The routes have ended the stream; its last bytes may still be under way. */
  markDone(): void {
    this.#state = 'done';
  }

  /** The last byte was handed over. */
  settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#owner.onSettled();
  }

  /** The client has gone, or the connection was cut. */
  abort(): void {
    if (this.#isSettled) return;
    this.settle();
    this.body?.cancel();
    if (this.#state === 'done') return;
    this.#state = 'done';
    if (this.#onAbort !== undefined) this.guard(this.#onAbort);
  }

  /** Writes the whole answer, and closes the connection after it when `close` is set. May come after an abort. */
  protected abstract answer(status: number, headers: HeaderList, body: Body, close: boolean): void;
  protected abstract begin(status: number, headers: HeaderList, close: boolean): HttpStream;
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
