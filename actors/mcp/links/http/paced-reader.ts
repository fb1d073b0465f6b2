// Reads a connection a turn of the event loop at a time: a server that writes without end is heard for BUDGET_MS, and then
// whatever else is ready comes first (A6). Meanwhile the connection is not read, so that its pipe fills and holds the server
// up (A8). How long handling takes is nobody's to foresee (a log message may go to a hundred clients), so it is measured.
//
// Only the rest of one chunk is held, beside what the stream itself keeps while it is paused. Who brings little, or few
// large messages, is never paused, and costs a look at the clock.
//
// PR1  bytes are handed on in order and once, also those still held when the connection ends.
// PR4  many that write without end share the time that one of them would have: a server may have as many connections as calls.

/** A server with many calls at once keeps a turn busy for one or two: to pause it would cost them more than it gives to others. */
export const BUDGET_MS = 3;
/** What comes so soon after the last is of the same turn: a stream is read several times in one. */
const SAME_TURN_MS = 0.1;

/** Those whose turn was over before their bytes were, and that wait for the next one. */
export class WaitingReaders {
  count = 0;
}

/** Of this process, which has one event loop. */
const everybody = new WaitingReaders();

/** What those who take bytes have to look at between two lines. */
export interface ReadingTurn {
  /** Nothing more may be handled now. */
  readonly isOver: boolean;
}

/** A stream in flowing mode. */
export interface PacedSource {
  pause(): unknown;
  resume(): unknown;
}

/** Handles bytes, and gives how many: fewer than there are only when the turn is over. */
export type TakeBytes = (bytes: Buffer, turn: ReadingTurn | undefined) => number;

export class PacedReader implements ReadingTurn {
  readonly #source: PacedSource;
  readonly #take: TakeBytes;
  readonly #now: () => number;
  readonly #others: WaitingReaders;
  /** What was read and not handled. */
  #rest: Buffer | undefined;
  /** Whoever takes was told that the turn is over. */
  #isSpent = false;
  #isWaiting = false;
  #isHeldUp = false;
  #isEnded = false;
  #onHandled: (() => void) | undefined;
  #beganAt = Number.NEGATIVE_INFINITY;
  /** When something was last handled. */
  #workedAt = Number.NEGATIVE_INFINITY;

  constructor(
    source: PacedSource,
    take: TakeBytes,
    now: () => number = () => performance.now(),
    others: WaitingReaders = everybody,
  ) {
    this.#source = source;
    this.#take = take;
    this.#now = now;
    this.#others = others;
  }

  get isOver(): boolean {
    this.#workedAt = this.#now();
    this.#isSpent = this.#workedAt - this.#beganAt >= BUDGET_MS / (1 + this.#others.count);
    return this.#isSpent;
  }

  /** What the source has brought. */
  push(chunk: Buffer): void {
    if (this.#isEnded) return;
    if (this.#isWaiting) {
      // A paused stream says nothing; whatever does all the same keeps its order.
      this.#rest = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
      return;
    }
    const now = this.#now();
    if (now - this.#workedAt > SAME_TURN_MS) this.#beganAt = now;
    this.#handle(chunk);
  }

  /** Reads nothing until `resume`, for a reason of its owner's. */
  pause(): void {
    this.#isHeldUp = true;
    this.#source.pause();
  }

  resume(): void {
    this.#isHeldUp = false;
    if (!this.#isWaiting) this.#source.resume();
  }

  /** The source brings nothing more; `onHandled` is called when what it has brought is handled. */
  end(onHandled: () => void): void {
    if (this.#isWaiting) this.#onHandled = onHandled;
    else onHandled();
  }

  /** The source is gone: what is held is handled now. */
  flush(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const rest = this.#rest;
    this.#rest = undefined;
    if (rest !== undefined) this.#take(rest, undefined);
  }

  /** Nobody wants anything more of it. */
  drop(): void {
    this.#isEnded = true;
    this.#rest = undefined;
  }

  #handle(bytes: Buffer): void {
    this.#isSpent = false;
    const taken = this.#take(bytes, this);
    // Whoever takes may have ended it. Pieces of something large are only put aside, and the stream itself bounds how many of them
    // it reads in a turn: a pause for them would cost more than they do.
    if (this.#isEnded || !this.#isSpent) return;
    if (taken < bytes.length) this.#rest = bytes.subarray(taken);
    this.#isWaiting = true;
    this.#others.count += 1;
    this.#source.pause();
    setImmediate(() => this.#goOn());
  }

  #goOn(): void {
    this.#isWaiting = false;
    this.#others.count -= 1;
    if (this.#isEnded) return;
    this.#beganAt = this.#now();
    const rest = this.#rest;
    this.#rest = undefined;
    if (rest !== undefined) this.#handle(rest);
    if (this.#isWaiting || this.#isEnded) return;
    if (!this.#isHeldUp) this.#source.resume();
    this.#onHandled?.();
  }
}
