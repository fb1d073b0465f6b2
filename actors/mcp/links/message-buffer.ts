// Collects one message that arrives in pieces, up to a limit. Beyond it the bytes are dropped and only counted,
// with the id looked for on the way, so that memory stays flat whatever the server sends (L3).
// A message that came in one piece is handed on without a copy; of a few pieces one is made in the end. Of many none is
// made for those who take them as they are: to put together what is large would need its memory twice.
// Small pieces are put together before: a list of tiny ones would cost a hundred times their bytes.

import { LargeMessage } from '../jsonrpc/large-message.ts';

const EMPTY = Buffer.alloc(0);
/** A piece of this size is kept as it came; it may hold on to a network buffer that is a few times as large. */
const LARGE_BYTES = 16_384;
const BLOCK_BYTES = 65_536;

/** From here on a message is left in pieces, for those who want that. */
export const LARGE_MESSAGE_BYTES = 262_144;

export class MessageBuffer {
  readonly #maxBytes: number;
  /** Beyond so many bytes the message is read while it arrives. */
  readonly #maxUnreadBytes: number;
  #pieces: Buffer[] = [];
  /** Bytes so far; only the buffer writes it. */
  length = 0;
  /** Where small pieces are put together; `#filled` bytes of it follow what is in `#pieces`. */
  #block = EMPTY;
  #filled = 0;
  #large: LargeMessage | undefined;

  /** A message within `maxBytes`, but beyond `maxWholeBytes`, comes in pieces. */
  constructor(maxBytes: number, maxWholeBytes = maxBytes) {
    this.#maxBytes = maxBytes;
    this.#maxUnreadBytes = Math.min(maxBytes, maxWholeBytes);
  }

  append(piece: Buffer): void {
    const isFirst = this.length === 0;
    this.length += piece.length;
    if (this.#large === undefined && this.length > this.#maxUnreadBytes) this.#read();
    this.#large?.feed(piece);
    if (this.length > this.#maxBytes) this.#drop();
    else if (isFirst || piece.length >= LARGE_BYTES) {
      this.#closeBlock();
      this.#pieces.push(piece);
    } else this.#addSmall(piece);
  }

  /** Gives what was collected, whole, in pieces, or as what is known of a message that was dropped; and starts afresh. */
  take(): Buffer | LargeMessage {
    const large = this.#large;
    this.#closeBlock();
    if (large !== undefined && this.length <= this.#maxBytes) large.pieces = this.#pieces;
    const taken = large ?? this.#whole();
    this.#large = undefined;
    this.length = 0;
    this.#drop();
    return taken;
  }

  /** Reads what is here, and then whatever comes. */
  #read(): void {
    this.#large = new LargeMessage();
    this.#closeBlock();
    for (const piece of this.#pieces) this.#large.feed(piece);
  }

  #whole(): Buffer {
    const [first = EMPTY, ...more] = this.#pieces;
    return more.length === 0 ? first : Buffer.concat(this.#pieces, this.length);
  }

  #drop(): void {
    this.#pieces = [];
    this.#block = EMPTY;
    this.#filled = 0;
  }

  #addSmall(piece: Buffer): void {
    if (this.#filled + piece.length > this.#block.length) {
      this.#closeBlock();
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    }
    this.#filled += piece.copy(this.#block, this.#filled);
  }

  /** What is in the block becomes a piece; the rest of the block is for the next ones. */
  #closeBlock(): void {
    if (this.#filled === 0) return;
    this.#pieces.push(this.#block.subarray(0, this.#filled));
    this.#block = this.#block.subarray(this.#filled);
    this.#filled = 0;
  }
}
