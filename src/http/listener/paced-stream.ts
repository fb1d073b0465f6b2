// Flow control for streamed answers on both fillings: bytes are written to the HTTP server in pieces, the next one when the client
// has taken the last. So the count of unsent bytes is exact, and the gateway itself bounds it.
//
// SP1  one turn of the event loop hands over no more than TURN_BYTES for a client, however much waits for it.
// SP2  a client for which there is no room is cut off, and the routes are told as if it had left (A8).

import { Backlog } from './backlog.ts';
import { Reader, type Readers } from './readers.ts';
import type { Reply } from './reply.ts';
import type { HttpStream } from './seam.ts';

const TURN_BYTES = 1024 * 1024;

export abstract class PacedStream implements HttpStream {
  protected readonly reply: Reply;
  readonly #pieceBytes: number;
  readonly #readers: Readers;
  readonly #reader: Reader;
  readonly #backlog: Backlog;
  /** The piece that the server beneath has not passed on yet. */
  #inHand = 0;
  #turn: NodeJS.Immediate | undefined;
  #isDone = false;
  #isOver = false;
  #onDrain: (() => void) | undefined;

  constructor(reply: Reply, readers: Readers, pieceBytes: number) {
    this.reply = reply;
    this.#pieceBytes = pieceBytes;
    this.#readers = readers;
    this.#reader = new Reader(() => reply.giveUp());
    this.#backlog = new Backlog(readers, this.#reader);
  }

  get isDone(): boolean {
    return this.#isDone || this.reply.isDone;
  }

  get bufferedBytes(): number {
    return this.#backlog.bytes;
  }

  write(chunk: string | Uint8Array): boolean {
    if (this.isDone || chunk.length === 0) return true;
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    if (!this.#backlog.push(bytes)) {
      this.reply.giveUp();
      return true;
    }
    if (this.#inHand === 0 && this.#turn === undefined) this.#pump();
    return this.#backlog.bytes === 0;
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener;
  }

  end(): void {
    if (this.isDone) return;
    this.#isDone = true;
    this.reply.markDone();
    if (this.#backlog.bytes === 0) this.#finish();
  }

  destroy(): void {
    this.reply.destroy();
  }

  /** The client has gone: the response must not be touched any more. */
  abort(): void {
    this.#isDone = true;
    this.#isOver = true;
    clearImmediate(this.#turn);
    this.#readers.noteCaughtUp(this.#reader);
    this.#backlog.clear();
  }

  /** The client has taken what was in hand. */
  protected readonly onTaken = (): void => {
    if (this.#isOver || this.#inHand === 0) return;
    this.#backlog.drop(this.#inHand);
    this.#inHand = 0;
    this.#goOn();
  };

  /** Hands over a piece; false when the client has to be waited for, and then `onTaken` is called. */
  protected abstract hand(piece: Uint8Array): boolean;
  /** Ends the answer, all of which was handed over. */
  protected abstract finish(): void;
  /** Runs code that hands pieces over, which leave in one write where the server beneath can do that. */
  protected abstract corked(code: () => void): void;

  #goOn(): void {
    this.#turn = undefined;
    if (this.#isOver) return;
    this.#pump();
    if (this.#backlog.bytes > 0) return;
    if (this.#isDone) this.#finish();
    else if (this.#onDrain !== undefined) this.reply.guard(this.#onDrain);
  }

  #pump(): void {
    this.corked(() => this.#handOver());
    if (this.#backlog.bytes > 0) this.#readers.noteBehind(this.#reader);
    else this.#readers.noteCaughtUp(this.#reader);
  }

  #handOver(): void {
    let left = TURN_BYTES;
    for (let piece = this.#backlog.peek(this.#pieceBytes); piece !== undefined; ) {
      if (!this.hand(piece)) {
        this.#inHand = piece.length;
        return;
      }
      this.#backlog.drop(piece.length);
      left -= piece.length;
      piece = this.#backlog.peek(this.#pieceBytes);
      if (left > 0 || piece === undefined) continue;
      this.#turn = setImmediate(() => this.#goOn());
      return;
    }
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.finish();
  }
}
