// The pieces of a body that have come so far. Small ones are put together in blocks: kept one by one, each would cost
// hundreds of times its bytes. The first, and large ones, are kept as they came: most bodies come in one piece, and are
// not copied.

const LARGE_BYTES = 16_384;
const MIN_BLOCK_BYTES = 1_024;
const MAX_BLOCK_BYTES = 65_536;

/** What a piece costs beside its bytes, roughly. */
const PIECE_BYTES = 256;

const NOTHING: Buffer = Buffer.alloc(0);

export class BodyPieces {
  #first = NOTHING;
  #others: Buffer[] | undefined;
  #bytes = 0;
  /** Of the small ones that came last: so much of it is filled. */
  #block = NOTHING;
  #filled = 0;

  /** Memory that it takes to add so many bytes. */
  costOf(bytes: number): number {
    if (this.#fits(bytes)) return 0;
    return PIECE_BYTES + (this.#isKept(bytes) ? bytes : this.#blockBytes(bytes));
  }

  /** Takes over the bytes: the caller must not change them. */
  add(bytes: Buffer): void {
    if (this.#bytes === 0) this.#first = bytes;
    else if (this.#isKept(bytes.length)) {
      this.#close();
      this.#push(bytes);
    } else {
      if (!this.#fits(bytes.length)) {
        this.#close();
        this.#block = Buffer.allocUnsafeSlow(this.#blockBytes(bytes.length));
      }
      this.#filled += bytes.copy(this.#block, this.#filled);
    }
    this.#bytes += bytes.length;
  }

  whole(): Buffer {
    this.#close();
    return this.#others === undefined
      ? this.#first
      : Buffer.concat([this.#first, ...this.#others], this.#bytes);
  }

  clear(): void {
    this.#first = NOTHING;
    this.#others = undefined;
    this.#block = NOTHING;
    this.#filled = 0;
    this.#bytes = 0;
  }

  #push(bytes: Buffer): void {
    this.#others ??= [];
    this.#others.push(bytes);
  }

  #isKept(bytes: number): boolean {
    return this.#bytes === 0 || bytes >= LARGE_BYTES;
  }

  #fits(bytes: number): boolean {
    return !this.#isKept(bytes) && this.#filled + bytes <= this.#block.length;
  }

  #blockBytes(bytes: number): number {
    return Math.max(bytes, Math.min(MAX_BLOCK_BYTES, Math.max(MIN_BLOCK_BYTES, this.#bytes)));
  }

  /** Nothing more goes into the block. */
  #close(): void {
    if (this.#filled > 0) this.#push(this.#block.subarray(0, this.#filled));
    this.#block = NOTHING;
    this.#filled = 0;
  }
}
