// A streamed answer on uWebSockets.js. The server buffers without bound and tells neither how much nor when it is
// empty, so the stream hands over pieces of at most PIECE_BYTES and keeps the rest itself: then its count is true.
//
// Once an onWritable handler is set the server drains its own buffer only when it is written to; leaving an empty
// cork counts as a write, which is why every onWritable goes through one.

import type { HttpResponse } from 'uWebSockets.js';
import type { HttpStream } from './seam.ts';
import type { UwsReply } from './uws-reply.ts';

export const PIECE_BYTES = 65_536;

export class UwsStream implements HttpStream {
  readonly #res: HttpResponse;
  readonly #reply: UwsReply;
  #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  /** The piece that the server took into its buffer, where one is there. */
  #blockedBytes = 0;
  #isDone = false;
  #isOver = false;
  #onDrain: (() => void) | undefined;

  constructor(res: HttpResponse, reply: UwsReply) {
    this.#res = res;
    this.#reply = reply;
    res.onWritable(() => {
      this.#resume();
      return true;
    });
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  get bufferedBytes(): number {
    return this.#queuedBytes + this.#blockedBytes;
  }

  write(chunk: string | Uint8Array): boolean {
    if (this.#isDone || chunk.length === 0) return true;
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    this.#queue.push(bytes);
    this.#queuedBytes += bytes.length;
    if (this.#blockedBytes === 0) this.#res.cork(() => this.#pump());
    return this.bufferedBytes === 0;
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener;
  }

  end(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#reply.markDone();
    if (this.#queuedBytes === 0) this.#finish();
  }

  destroy(): void {
    this.#reply.destroy();
  }

  /** The client has gone: the response must not be touched any more. */
  abort(): void {
    this.#isDone = true;
    this.#isOver = true;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#blockedBytes = 0;
  }

  #resume(): void {
    if (this.#isOver) return;
    this.#blockedBytes = 0;
    this.#res.cork(() => this.#pump());
    if (this.#queuedBytes > 0) return;
    if (this.#isDone) this.#finish();
    else if (this.#blockedBytes === 0 && this.#onDrain !== undefined) this.#reply.guard(this.#onDrain);
  }

  /** Hands pieces over until the server has to keep one. */
  #pump(): void {
    let next = this.#queue[0];
    while (next !== undefined && this.#blockedBytes === 0) {
      const piece = next.length > PIECE_BYTES ? next.subarray(0, PIECE_BYTES) : next;
      if (piece === next) this.#queue.shift();
      else this.#queue[0] = next.subarray(PIECE_BYTES);
      this.#queuedBytes -= piece.length;
      if (!this.#res.write(piece)) this.#blockedBytes = piece.length;
      next = this.#queue[0];
    }
  }

  #finish(): void {
    this.#isOver = true;
    this.#reply.stopReading();
    // Without the flag that closes: after a chunk uWebSockets.js 20 would write a header into the body.
    this.#res.cork(() => this.#res.end());
    this.#reply.settle();
  }
}
