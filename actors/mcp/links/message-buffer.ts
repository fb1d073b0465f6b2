// Collects a message that arrives in pieces. Above the size limit the bytes are dropped and counted, and only
// the id is extracted (L3, link.ts). A large message is not joined for consumers that accept pieces, because
// that would need twice the memory. Small pieces are joined early: many tiny buffers need a hundred times
// their size.

import { LargeMessage } from '../jsonrpc/large-message.ts';

const EMPTY = Buffer.alloc(0);
/** Minimum size of pieces that are stored without a copy. Each may keep a larger network buffer in memory. */
const LARGE_BYTES = 16_384;
const BLOCK_BYTES = 65_536;

/** Minimum message size for delivery in pieces, to consumers that accept them. */
export const LARGE_MESSAGE_BYTES = 262_144;

export class MessageBuffer {
  readonly #maxBytes: number;
  /** Size above which the message is parsed while it arrives. */
  readonly #maxUnparsedBytes: number;
  #pieces: Buffer[] = [];
  /** Number of bytes received so far; written only here. */
  length = 0;
  /** Buffer for small pieces. Its first `#filled` bytes come after `#pieces`. */
  #block = EMPTY;
  #filled = 0;
  /** Set if the message is parsed as it arrives. */
  #large: LargeMessage | undefined;

  /** Messages between `maxWholeBytes` and `maxBytes` are delivered in pieces. */
  constructor(maxBytes: number, maxWholeBytes = maxBytes) {
    this.#maxBytes = maxBytes;
    this.#maxUnparsedBytes = Math.min(maxBytes, maxWholeBytes);
  }

  append(piece: Buffer): void {
    const isFirst = this.length === 0;
    this.length += piece.length;
    if (this.#large === undefined && this.length > this.#maxUnparsedBytes) this.#startParsing();
    this.#large?.feed(piece);
    if (this.length > this.#maxBytes) this.#drop();
    // Most messages arrive in one piece, so the first piece is not copied.
    else if (isFirst || piece.length >= LARGE_BYTES) {
      this.#closeBlock();
      this.#pieces.push(piece);
    } else this.#addSmall(piece);
  }

  /** Returns the message, whole or in pieces, or the summary of a dropped message. Resets the buffer. */
  take(): Buffer | LargeMessage {
    const large = this.#large;
    this.#closeBlock();
    if (large !== undefined && this.length <= this.#maxBytes) large.pieces = this.#pieces;
    const result = large ?? this.#whole();
    this.#large = undefined;
    this.length = 0;
    this.#drop();
    return result;
  }

  /** Starts parsing the message while it arrives. */
  #startParsing(): void {
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

  /** Turns the content of the block into a piece. The rest of the block is used for later pieces. */
  #closeBlock(): void {
    if (this.#filled === 0) return;
    this.#pieces.push(this.#block.subarray(0, this.#filled));
    this.#block = this.#block.subarray(this.#filled);
    this.#filled = 0;
  }
}
