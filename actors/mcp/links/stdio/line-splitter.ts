// Splits a local server's stdout, or the gateway's stdin, into lines; each line is a message. Works on bytes,
// which is correct for UTF-8: newline bytes never occur inside longer characters. Up to `maxBytes` per line
// are buffered; longer lines are dropped and reported with size and id (L3, link.ts).

import { LargeMessage } from '../../jsonrpc/large-message.ts';
import type { ReadingTurn } from '../http/paced-reader.ts';
import { LARGE_MESSAGE_BYTES, MessageBuffer } from '../message-buffer.ts';

const LF = 0x0a;
const CR = 0x0d;

export interface LineEvents {
  /** Receives a line without its LF or CRLF. */
  onLine(bytes: Buffer): void;
  /** Like `onLine`, for a large line in pieces. If absent, the pieces are joined. */
  onLarge?(message: LargeMessage): void;
  /**
   * A line that exceeds the limit was dropped: a response with the raw JSON-RPC id `id`, or a request with
   * `requestId`.
   */
  onOversized(size: number, id: string | undefined, requestId: string | undefined): void;
}

export class LineSplitter {
  readonly #maxBytes: number;
  readonly #events: LineEvents;
  readonly #partial: MessageBuffer;

  constructor(maxBytes: number, events: LineEvents) {
    this.#maxBytes = maxBytes;
    this.#events = events;
    const maxWholeBytes = events.onLarge === undefined ? undefined : LARGE_MESSAGE_BYTES;
    // One byte more for the CR, which arrives before the LF.
    this.#partial = new MessageBuffer(maxBytes + 1, maxWholeBytes);
  }

  /** Returns the number of accepted bytes; fewer if `turn`, the time slice, expires. */
  push(chunk: Buffer, turn?: ReadingTurn): number {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      const piece = chunk.subarray(start, end);
      start = end + 1;
      // Most lines arrive in one chunk.
      if (this.#partial.length === 0 && piece.length <= this.#maxBytes) {
        this.#emit(piece);
      } else {
        this.#partial.append(piece);
        this.#emit(this.#partial.take());
      }
      if (turn?.isOver === true) return start;
    }
    if (start < chunk.length) this.#partial.append(chunk.subarray(start));
    return chunk.length;
  }

  /** Returns the incomplete last line, which is not a message. */
  end(): Buffer {
    const rest = this.#partial.take();
    return rest instanceof LargeMessage ? rest.whole() : rest;
  }

  #emit(message: Buffer | LargeMessage): void {
    if (message instanceof LargeMessage) {
      message.trimLineEnd();
      this.#emitLarge(message);
      return;
    }
    const line = message[message.length - 1] === CR ? message.subarray(0, -1) : message;
    if (line.length <= this.#maxBytes) {
      this.#events.onLine(line);
      return;
    }
    // The buffer has one byte more than the limit, for a CR. This line has none, so it is too long.
    const dropped = new LargeMessage();
    dropped.feed(line);
    this.#emitLarge(dropped);
  }

  #emitLarge(message: LargeMessage): void {
    const { pieces, size, id, requestId } = message;
    if (pieces === undefined || size > this.#maxBytes) this.#events.onOversized(size, id, requestId);
    else this.#events.onLarge?.(message);
  }
}
