// Flow control of streamed responses, for both listener implementations. The HTTP server gets the bytes in
// pieces, each after it has sent the previous one. So the gateway knows the number of unsent bytes and can
// limit it.
//
// In one event loop turn, up to TURN_BYTES are written for a client. If the limit for slow readers is
// reached, the client is cut off: its connection is closed, and the routes see a disconnect (A8,
// ARCHITECTURE.md).

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
  /** Size of the piece that the HTTP server has accepted and not sent yet. */
  #unsentBytes = 0;
  #nextTurn: NodeJS.Immediate | undefined;
  #isDone = false;
  #isFinished = false;
  #onDrain: (() => void) | undefined;

  constructor(reply: Reply, readers: Readers, pieceBytes: number) {
    this.reply = reply;
    this.#pieceBytes = pieceBytes;
    this.#readers = readers;
    this.#reader = new Reader(() => reply.cutOff());
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
      this.reply.cutOff();
      return true;
    }
    if (this.#unsentBytes === 0 && this.#nextTurn === undefined) this.#pump();
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

  /** Called when the client has disconnected. The response object can no longer be used. */
  abort(): void {
    this.#isDone = true;
    this.#isFinished = true;
    clearImmediate(this.#nextTurn);
    this.#readers.noteCaughtUp(this.#reader);
    this.#backlog.clear();
  }

  /** Called when the HTTP server has sent the current piece. */
  protected readonly onPieceSent = (): void => {
    if (this.#isFinished || this.#unsentBytes === 0) return;
    this.#backlog.drop(this.#unsentBytes);
    this.#unsentBytes = 0;
    this.#resume();
  };

  /** Writes a piece. Returns false if the client has not received it; `onPieceSent` is called later. */
  protected abstract writePiece(piece: Uint8Array): boolean;
  /** Completes the response when all pieces are written. */
  protected abstract finish(): void;
  /** Calls code that writes pieces. Joins them to one write if the HTTP server supports this. */
  protected abstract cork(code: () => void): void;

  #resume(): void {
    this.#nextTurn = undefined;
    if (this.#isFinished) return;
    this.#pump();
    if (this.#backlog.bytes > 0) return;
    if (this.#isDone) this.#finish();
    else if (this.#onDrain !== undefined) this.reply.guard(this.#onDrain);
  }

  #pump(): void {
    this.cork(() => this.#writePieces());
    if (this.#backlog.bytes > 0) this.#readers.noteBehind(this.#reader);
    else this.#readers.noteCaughtUp(this.#reader);
  }

  #writePieces(): void {
    let remainingBytes = TURN_BYTES;
    for (let piece = this.#backlog.peek(this.#pieceBytes); piece !== undefined; ) {
      if (!this.writePiece(piece)) {
        this.#unsentBytes = piece.length;
        return;
      }
      this.#backlog.drop(piece.length);
      remainingBytes -= piece.length;
      piece = this.#backlog.peek(this.#pieceBytes);
      if (remainingBytes > 0 || piece === undefined) continue;
      this.#nextTurn = setImmediate(() => this.#resume());
      return;
    }
  }

  #finish(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.finish();
  }
}
