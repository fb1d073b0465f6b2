// Stdout of a local server, or stdin of this program, as lines, one message each. Works on bytes only: a line end is never part of a longer
// UTF-8 character, so text that was split between two reads comes together again by itself.
// At most `maxBytes` of a line are held; a longer one streams through, and its size and id are reported (L3).

import { LargeMessage } from '../../jsonrpc/large-message.ts';
import type { ReadingTurn } from '../http/paced-reader.ts';
import { LARGE_MESSAGE_BYTES, MessageBuffer } from '../message-buffer.ts';

const LF = 0x0a;
const CR = 0x0d;

export interface LineEvents {
  /** One line without its line end (LF or CRLF). */
  onLine(bytes: Buffer): void;
  /** As `onLine`, for a large line that came in pieces; without this method it is put together. */
  onLarge?(message: LargeMessage): void;
  /** A line beyond the limit was dropped: an answer with this raw JSON-RPC id, or a request with that one. */
  onOversized(size: number, id: string | undefined, requestId: string | undefined): void;
}

export class LineSplitter {
  readonly #maxBytes: number;
  readonly #events: LineEvents;
  readonly #partial: MessageBuffer;

  constructor(maxBytes: number, events: LineEvents) {
    this.#maxBytes = maxBytes;
    this.#events = events;
    // One more, because the CR of a line end arrives before it is known to be one.
    const maxWholeBytes = events.onLarge === undefined ? undefined : LARGE_MESSAGE_BYTES;
    this.#partial = new MessageBuffer(maxBytes + 1, maxWholeBytes);
  }

  /** Gives how many bytes it has taken: all of them, unless `turn` is over before. */
  push(chunk: Buffer, turn?: ReadingTurn): number {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      const piece = chunk.subarray(start, end);
      start = end + 1;
      // Most lines come in one piece.
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

  /** What came after the last line end: no message, since a message ends with one. Empty if there is nothing. */
  end(): Buffer {
    const rest = this.#partial.take();
    return rest instanceof LargeMessage ? rest.whole() : rest;
  }

  #emit(taken: Buffer | LargeMessage): void {
    if (taken instanceof LargeMessage) {
      taken.trimLineEnd();
      this.#emitLarge(taken);
      return;
    }
    const line = taken[taken.length - 1] === CR ? taken.subarray(0, -1) : taken;
    if (line.length <= this.#maxBytes) {
      this.#events.onLine(line);
      return;
    }
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
