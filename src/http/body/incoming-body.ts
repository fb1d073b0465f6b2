// Receives a request body, limited by size, time and a shared memory budget. The receiver is called
// once, with the complete body or with a problem; later bytes are discarded.
//
// A response before the end of the body is held back: closing a socket with unread bytes makes the system
// send a reset, and the client would lose the response. It is sent when the body is complete, or after
// LINGER_MS.

import type { Deadlines, TimedEntry } from '../../../actors/base/time/deadlines.ts';
import { type BodyProblem, type HttpRequest, LINGER_MS } from '../listener/seam.ts';
import type { Allowance, BodyBudget } from './body-budget.ts';

/** Pieces of at least this size are not copied. */
const LARGE_BYTES = 16_384;
const MIN_BLOCK_BYTES = 1_024;
const MAX_BLOCK_BYTES = 65_536;

/** Approximate memory per piece in addition to its bytes. */
const PIECE_BYTES = 256;

const NOTHING: Buffer = Buffer.alloc(0);

/** Received pieces. Small pieces are copied into common blocks, because an object per piece would need
 * hundreds of times its bytes. The first piece is not copied, because most bodies arrive in one piece;
 * neither are large pieces.
 */
export class BodyPieces {
  #first = NOTHING;
  #others: Buffer[] | undefined;
  #bytes = 0;
  /** Block for small pieces. */
  #block = NOTHING;
  /** Number of used bytes in the block. */
  #filled = 0;

  /** Returns the memory that is needed to add this number of bytes. */
  costOf(bytes: number): number {
    if (this.#fits(bytes)) return 0;
    return PIECE_BYTES + (this.#isUncopied(bytes) ? bytes : this.#blockBytes(bytes));
  }

  /** Adds bytes, which the caller must not change afterwards. */
  add(bytes: Buffer): void {
    if (this.#bytes === 0) this.#first = bytes;
    else if (this.#isUncopied(bytes.length)) {
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

  #isUncopied(bytes: number): boolean {
    return this.#bytes === 0 || bytes >= LARGE_BYTES;
  }

  #fits(bytes: number): boolean {
    return !this.#isUncopied(bytes) && this.#filled + bytes <= this.#block.length;
  }

  #blockBytes(bytes: number): number {
    return Math.max(bytes, Math.min(MAX_BLOCK_BYTES, Math.max(MIN_BLOCK_BYTES, this.#bytes)));
  }

  /** Appends the current block to the pieces. */
  #close(): void {
    if (this.#filled > 0) this.#push(this.#block.subarray(0, this.#filled));
    this.#block = NOTHING;
    this.#filled = 0;
  }
}

export class IncomingBody implements TimedEntry<IncomingBody> {
  /** Set by Deadlines, as are `previous` and `next`. */
  dueAt = 0;
  previous: IncomingBody | undefined;
  next: IncomingBody | undefined;
  readonly #sender: Pick<HttpRequest, 'remoteAddress'>;
  readonly #maxBytes: number;
  readonly #expectedBytes: number;
  readonly #deadlines: Deadlines<IncomingBody>;
  #deliver: ((body: Buffer | BodyProblem) => void) | undefined;
  #release: ((isComplete: boolean) => void) | undefined;
  #budget: BodyBudget;
  /** Created on first use, because most bodies need no memory. */
  #allowance: Allowance | undefined;
  readonly #pieces = new BodyPieces();
  #size = 0;
  #isComplete = false;
  #isLate = false;
  /** Sends a held-back response after LINGER_MS. */
  #timer: NodeJS.Timeout | undefined;

  /** Starts the deadline. `expectedBytes` is Infinity if the length is unknown. */
  constructor(
    sender: Pick<HttpRequest, 'remoteAddress'>,
    expectedBytes: number,
    maxBytes: number,
    budget: BodyBudget,
    deadlines: Deadlines<IncomingBody>,
  ) {
    this.#sender = sender;
    this.#expectedBytes = expectedBytes;
    this.#maxBytes = maxBytes;
    this.#budget = budget;
    this.#deadlines = deadlines;
    deadlines.add(this, performance.now());
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  expire(): void {
    this.#isLate = true;
    this.#end('too_slow');
  }

  /** Restarts the deadline, unless it has expired. */
  restartDeadline(now: number): void {
    if (this.#isLate || this.#isComplete || this.#release !== undefined) return;
    this.#deadlines.delete(this);
    this.#deadlines.add(this, now);
  }

  /** Sets another budget. Must be called before the first byte. */
  limit(budget: BodyBudget): void {
    this.#budget = budget;
  }

  /**
   * Sets the receiver, which is called once, unless `drop` or `cancel` is called before. Must be called
   * before the first byte.
   */
  deliverTo(deliver: (body: Buffer | BodyProblem) => void): void {
    // After a response, the body is not needed.
    if (this.#release === undefined) this.#deliver = deliver;
  }

  /** Adds bytes, which the caller must not change afterwards. */
  push(bytes: Buffer): void {
    if (this.#deliver === undefined || bytes.length === 0) return;
    this.#size += bytes.length;
    // The last piece is delivered immediately, so it needs no memory.
    const isWithinBudget =
      this.#size === this.#expectedBytes || this.#acquire(this.#pieces.costOf(bytes.length));
    if (this.#size > this.#maxBytes) this.#end('too_large');
    else if (!isWithinBudget) this.#end('over_budget');
    else this.#pieces.add(bytes);
  }

  /** Called after the last byte. Delivers the body, and sends a held-back response. */
  finish(): void {
    this.#isComplete = true;
    this.#deadlines.delete(this);
    this.#end(this.#pieces.whole());
    const release = this.#release;
    if (release === undefined) return;
    clearTimeout(this.#timer);
    this.#release = undefined;
    release(true);
  }

  /** Called if Content-Length exceeds the limit. */
  refuse(): void {
    this.#end('too_large');
  }

  /** Discards the body and releases its memory. */
  drop(): void {
    this.#deliver = undefined;
    this.#pieces.clear();
    this.#allowance?.release();
  }

  /** Calls `release` with true when the body is complete, or with false after LINGER_MS. */
  hold(release: (isComplete: boolean) => void): void {
    this.drop();
    this.#deadlines.delete(this);
    if (this.#isComplete || this.#isLate) {
      release(this.#isComplete);
      return;
    }
    this.#release = release;
    this.#timer = setTimeout(() => {
      this.#release = undefined;
      release(false);
    }, LINGER_MS);
  }

  /** Called when the client has disconnected. */
  cancel(): void {
    this.#deadlines.delete(this);
    clearTimeout(this.#timer);
    this.#release = undefined;
    this.drop();
  }

  #acquire(bytes: number): boolean {
    if (bytes === 0) return true;
    this.#allowance ??= this.#budget.allowanceFor(this.#sender);
    return this.#allowance.acquire(bytes);
  }

  #end(body: Buffer | BodyProblem): void {
    const deliver = this.#deliver;
    this.drop();
    deliver?.(body);
  }
}
