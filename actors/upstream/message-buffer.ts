// Collects one message that arrives in pieces, up to a limit. Beyond it the bytes are dropped and only counted,
// with the id looked for on the way, so that memory stays flat whatever the server sends (L3).
// A message that came in one piece is handed on without a copy; many pieces go into one buffer that doubles,
// because a list of tiny pieces would cost a hundred times their bytes.

import { OversizedMessage } from '../jsonrpc/oversized.ts';

const EMPTY = Buffer.alloc(0);
const FIRST_CAPACITY = 4096;

export class MessageBuffer {
  readonly #maxBytes: number;
  #bytes: Buffer = EMPTY;
  #length = 0;
  /** False while `#bytes` is a piece of the network buffer, which is not ours to write into. */
  #isOwn = false;
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
      this.#oversized.feed(this.#bytes.subarray(0, this.#length));
      this.#oversized.feed(piece);
      this.#forget();
    } else if (this.#length === 0) {
      this.#bytes = piece;
      this.#length = piece.length;
    } else {
      this.#room(this.#length + piece.length);
      this.#length += piece.copy(this.#bytes, this.#length);
    }
  }

  /** Gives what was collected, whole or as the remains of an oversized message, and starts afresh. */
  take(): Buffer | OversizedMessage {
    const taken = this.#oversized ?? this.#bytes.subarray(0, this.#length);
    this.#oversized = undefined;
    this.#forget();
    return taken;
  }

  #forget(): void {
    this.#bytes = EMPTY;
    this.#length = 0;
    this.#isOwn = false;
  }

  #room(needed: number): void {
    if (this.#isOwn && needed <= this.#bytes.length) return;
    const capacity = Math.min(this.#maxBytes, Math.max(FIRST_CAPACITY, needed, this.#length * 2));
    const larger = Buffer.allocUnsafeSlow(capacity);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
    this.#isOwn = true;
  }
}
