// Collects one message that arrives in pieces, up to a limit. Beyond it the bytes are dropped and only counted,
// with the id looked for on the way, so that memory stays flat whatever the server sends (L3).
// A message that came in one piece is handed on without a copy; of many pieces one is made in the end, so that each
// byte is copied once. Small ones are put together before: a list of tiny pieces would cost a hundred times their bytes.

import { OversizedMessage } from '../jsonrpc/oversized.ts';

const EMPTY = Buffer.alloc(0);
/** A piece of this size is kept as it came; it may hold on to a network buffer that is a few times as large. */
const LARGE_BYTES = 16_384;
const BLOCK_BYTES = 65_536;

export class MessageBuffer {
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #length = 0;
  /** Where small pieces are put together; `#filled` bytes of it follow what is in `#pieces`. */
  #block = EMPTY;
  #filled = 0;
  #oversized: OversizedMessage | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isEmpty(): boolean {
    return this.#length === 0 && this.#oversized === undefined;
  }

  append(piece: Buffer): void {
    if (this.#oversized !== undefined) {
      this.#oversized.feed(piece);
    } else if (this.#length + piece.length > this.#maxBytes) {
      this.#oversized = new OversizedMessage();
      this.#closeBlock();
      for (const each of this.#pieces) this.#oversized.feed(each);
      this.#oversized.feed(piece);
      this.#forget();
    } else {
      if (this.#length === 0 || piece.length >= LARGE_BYTES) {
        this.#closeBlock();
        this.#pieces.push(piece);
      } else this.#addSmall(piece);
      this.#length += piece.length;
    }
  }

  /** Gives what was collected, whole or as the remains of an oversized message, and starts afresh. */
  take(): Buffer | OversizedMessage {
    const taken = this.#oversized ?? this.#whole();
    this.#oversized = undefined;
    this.#forget();
    return taken;
  }

  #whole(): Buffer {
    this.#closeBlock();
    const [first = EMPTY, ...more] = this.#pieces;
    return more.length === 0 ? first : Buffer.concat(this.#pieces, this.#length);
  }

  #forget(): void {
    this.#pieces = [];
    this.#length = 0;
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
