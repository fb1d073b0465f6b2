// Limits the time that reading one connection takes per tick of the event loop. After BUDGET_MS the stream is
// paused and other work runs first (A6, ARCHITECTURE.md); the pipe fills and slows the sender down (A8). Time
// is limited, not bytes, because message costs are unpredictable: a log message may go to a hundred clients.
// Busy readers share the budget. All bytes are delivered once and in order, even when the connection closes;
// apart from the stream's own buffer only the rest of one chunk is buffered.

/**
 * Time per tick. A server with many concurrent calls needs 1 to 2 ms, and pausing it would cost more than it
 * saves.
 */
export const BUDGET_MS = 3;
/**
 * Chunks that arrive within this time belong to the same tick, because a stream is read several times per
 * tick.
 */
const SAME_TURN_MS = 0.1;

/** Counts the readers that wait for the next tick. */
export class WaitingReaders {
  count = 0;
}

/** The waiting readers of the whole process. */
const allWaiting = new WaitingReaders();

/** A reader's time slice in one tick. The consumer checks `isOver` between two lines. */
export interface ReadingTurn {
  /** True if the time slice is used up: the consumer must stop handling bytes. */
  readonly isOver: boolean;
}

/** A stream in flowing mode. */
export interface PacedSource {
  pause(): unknown;
  resume(): unknown;
}

/** Handles bytes and returns the number of handled bytes; fewer if `turn`, the time slice, expires. */
export type ConsumeBytes = (bytes: Buffer, turn: ReadingTurn | undefined) => number;

export class PacedReader implements ReadingTurn {
  readonly #source: PacedSource;
  readonly #consume: ConsumeBytes;
  readonly #now: () => number;
  readonly #others: WaitingReaders;
  /** Received but unhandled bytes. */
  #rest: Buffer | undefined;
  /** True if the consumer has read `isOver` as true. */
  #isSpent = false;
  #isWaiting = false;
  #isPausedByOwner = false;
  #isEnded = false;
  #onHandled: (() => void) | undefined;
  /** Start of the current time slice. */
  #beganAt = Number.NEGATIVE_INFINITY;
  /** Time of the last handled bytes. */
  #workedAt = Number.NEGATIVE_INFINITY;

  constructor(
    source: PacedSource,
    consume: ConsumeBytes,
    now: () => number = () => performance.now(),
    others: WaitingReaders = allWaiting,
  ) {
    this.#source = source;
    this.#consume = consume;
    this.#now = now;
    this.#others = others;
  }

  get isOver(): boolean {
    this.#workedAt = this.#now();
    this.#isSpent = this.#workedAt - this.#beganAt >= BUDGET_MS / (1 + this.#others.count);
    return this.#isSpent;
  }

  /** Accepts a chunk from the source. */
  push(chunk: Buffer): void {
    if (this.#isEnded) return;
    if (this.#isWaiting) {
      // A paused stream should emit no data. If it does, the order must be preserved.
      this.#rest = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
      return;
    }
    const now = this.#now();
    if (now - this.#workedAt > SAME_TURN_MS) this.#beganAt = now;
    this.#handle(chunk);
  }

  /** Pauses reading until `resume`, because the owner of the reader cannot process more data. */
  pause(): void {
    this.#isPausedByOwner = true;
    this.#source.pause();
  }

  resume(): void {
    this.#isPausedByOwner = false;
    if (!this.#isWaiting) this.#source.resume();
  }

  /** Called when the source has ended. Calls `onHandled` when all received bytes are handled. */
  end(onHandled: () => void): void {
    if (this.#isWaiting) this.#onHandled = onHandled;
    else onHandled();
  }

  /** Called when the source is closed. Handles the buffered bytes immediately. */
  flush(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const rest = this.#rest;
    this.#rest = undefined;
    if (rest !== undefined) this.#consume(rest, undefined);
  }

  /** Discards the buffered bytes and stops reading. */
  drop(): void {
    this.#isEnded = true;
    this.#rest = undefined;
  }

  #handle(bytes: Buffer): void {
    this.#isSpent = false;
    const handledBytes = this.#consume(bytes, this);
    // The consumer may have stopped the reader. Without an `isOver` check (large messages are only buffered)
    // there is no pause, which would cost more than it saves.
    if (this.#isEnded || !this.#isSpent) return;
    if (handledBytes < bytes.length) this.#rest = bytes.subarray(handledBytes);
    this.#isWaiting = true;
    this.#others.count += 1;
    this.#source.pause();
    setImmediate(() => this.#continueReading());
  }

  #continueReading(): void {
    this.#isWaiting = false;
    this.#others.count -= 1;
    if (this.#isEnded) return;
    this.#beganAt = this.#now();
    const rest = this.#rest;
    this.#rest = undefined;
    if (rest !== undefined) this.#handle(rest);
    if (this.#isWaiting || this.#isEnded) return;
    if (!this.#isPausedByOwner) this.#source.resume();
    this.#onHandled?.();
  }
}
