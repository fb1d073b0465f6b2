// Reads the body of one request: counted whatever Content-Length says, bounded in bytes and in time, and by a budget
// over all that are still coming in. It is delivered once, whole or as a problem, and what comes after that is
// discarded.
//
// An answer given while the body is still coming is held until it is in: closing a socket with unread bytes makes
// the system send a reset, and the client would lose the answer. The wait ends after LINGER_MS.

import type { Deadlines, Waiting } from '../../../actors/base/time/deadlines.ts';
import { type BodyProblem, type HttpRequest, LINGER_MS } from '../listener/seam.ts';
import type { Allowance, BodyBudget } from './body-budget.ts';

const LARGE_BYTES = 16_384;
const MIN_BLOCK_BYTES = 1_024;
const MAX_BLOCK_BYTES = 65_536;

/** Approximate overhead per piece, in bytes. */
const PIECE_BYTES = 256;

const NOTHING: Buffer = Buffer.alloc(0);

/**
 * Received body pieces. Small pieces share blocks, because each object would cost hundreds of times the bytes; the first piece and
 * large ones are not copied, because most bodies arrive in one piece.
 */
export class BodyPieces {
  #first = NOTHING;
  #others: Buffer[] | undefined;
  #bytes = 0;
  /** Filled bytes of the last block of small pieces. */
  #block = NOTHING;
  #filled = 0;

  /** Returns the memory needed to add this number of bytes. */
  costOf(bytes: number): number {
    if (this.#fits(bytes)) return 0;
    return PIECE_BYTES + (this.#isKept(bytes) ? bytes : this.#blockBytes(bytes));
  }

  /** Adds bytes, which the caller must not change afterwards. */
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

  /** Closes the block. */
  #close(): void {
    if (this.#filled > 0) this.#push(this.#block.subarray(0, this.#filled));
    this.#block = NOTHING;
    this.#filled = 0;
  }
}

export class IncomingBody implements Waiting<IncomingBody> {
  /** Set and read by the deadlines. */
  dueAt = 0;
  previous: IncomingBody | undefined;
  next: IncomingBody | undefined;
  readonly #sender: Pick<HttpRequest, 'remoteAddress'>;
  readonly #maxBytes: number;
  readonly #announced: number;
  readonly #deadlines: Deadlines<IncomingBody>;
  #deliver: ((body: Buffer | BodyProblem) => void) | undefined;
  #release: ((isIn: boolean) => void) | undefined;
  #budget: BodyBudget;
  /** Set once it holds something: most bodies come in one piece. */
  #allowance: Allowance | undefined;
  readonly #pieces = new BodyPieces();
  #size = 0;
  #isIn = false;
  #isLate = false;
  /** How long a held answer waits. */
  #timer: NodeJS.Timeout | undefined;

  /** The deadline runs from here. `announced` bytes are to come, Infinity where that is not known. */
  constructor(
    sender: Pick<HttpRequest, 'remoteAddress'>,
    announced: number,
    maxBytes: number,
    budget: BodyBudget,
    deadlines: Deadlines<IncomingBody>,
  ) {
    this.#sender = sender;
    this.#announced = announced;
    this.#maxBytes = maxBytes;
    this.#budget = budget;
    this.#deadlines = deadlines;
    deadlines.add(this, performance.now());
  }

  /** The last byte is in. */
  get isIn(): boolean {
    return this.#isIn;
  }

  expire(): void {
    this.#isLate = true;
    this.#end('too_slow');
  }

  /** The deadline, unless it is over, runs from here anew. */
  waitAnew(now: number): void {
    if (this.#isLate || this.#isIn || this.#release !== undefined) return;
    this.#deadlines.delete(this);
    this.#deadlines.add(this, now);
  }

  /** It goes by another budget; to be called before the first byte can come. */
  limit(budget: BodyBudget): void {
    this.#budget = budget;
  }

  /** `deliver` is called once, unless `drop` or `cancel` come first. Call this before the first byte can come. */
  deliverTo(deliver: (body: Buffer | BodyProblem) => void): void {
    // An answer held already wants no body.
    if (this.#release === undefined) this.#deliver = deliver;
  }

  /** Takes over the bytes: the caller must not change them. */
  push(bytes: Buffer): void {
    if (this.#deliver === undefined || bytes.length === 0) return;
    this.#size += bytes.length;
    // With the last byte it is whole, and delivered at once.
    const hasRoom = this.#size === this.#announced || this.#take(this.#pieces.costOf(bytes.length));
    if (this.#size > this.#maxBytes) this.#end('too_large');
    else if (!hasRoom) this.#end('no_room');
    else this.#pieces.add(bytes);
  }

  /** The last byte is in. */
  finish(): void {
    this.#isIn = true;
    this.#deadlines.delete(this);
    this.#end(this.#pieces.whole());
    const release = this.#release;
    if (release === undefined) return;
    clearTimeout(this.#timer);
    this.#release = undefined;
    release(true);
  }

  /** The length announced is beyond the limit: nothing needs to be read to know. */
  refuse(): void {
    this.#end('too_large');
  }

  /** Nobody wants the body any more. */
  drop(): void {
    this.#deliver = undefined;
    this.#pieces.clear();
    this.#allowance?.giveBack();
  }

  /** Calls `release` when the body is in, with true; or with false when it is not worth waiting any longer. */
  hold(release: (isIn: boolean) => void): void {
    this.drop();
    this.#deadlines.delete(this);
    if (this.#isIn || this.#isLate) {
      release(this.#isIn);
      return;
    }
    this.#release = release;
    this.#timer = setTimeout(() => {
      this.#release = undefined;
      release(false);
    }, LINGER_MS);
  }

  /** The client has gone. */
  cancel(): void {
    this.#deadlines.delete(this);
    clearTimeout(this.#timer);
    this.#release = undefined;
    this.drop();
  }

  #take(bytes: number): boolean {
    if (bytes === 0) return true;
    this.#allowance ??= this.#budget.allowanceFor(this.#sender);
    return this.#allowance.take(bytes);
  }

  #end(body: Buffer | BodyProblem): void {
    const deliver = this.#deliver;
    this.drop();
    deliver?.(body);
  }
}
