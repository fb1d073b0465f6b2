// Commits the results of turns: those of one tick of the event loop in one call of the store. While the store takes
// nothing they are offered again and again, each until its claim cannot hold any longer; the event then comes again.
//
// CO1  each commit that is added hears exactly one of `onCommitted` and `onGivenUp`, unless the process ends before.
// CO2  a result that the store cannot take holds up no other: what failed together is offered one by one, and what fails
//      alone by a fault is replaced, once, by whatever `onRefused` gives.
// CO3  as many wait here as there are mailboxes with a turn, which the dispatcher bounds (A8).

import { GatewayError, InternalError } from '../../base/errors/errors.ts';
import type { Log } from '../../base/errors/log.ts';
import type { Committed, Store, TurnResult } from '../../store/store.ts';

export interface Commit {
  readonly result: TurnResult;
  /** Whether the claim is lost by our own clock; what the store answers counts. */
  hasLostClaim(): boolean;
  onCommitted(answer: Committed): void;
  /** The store takes other results, but refuses this one: makes `result` one that it can take. False if that was done before. */
  onRefused(error: unknown): boolean;
  onGivenUp(): void;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
const UNKNOWN: Committed = { isCurrent: false, next: undefined };

export class Committer {
  readonly #store: Pick<Store, 'commit'>;
  readonly #log: Log;
  #waiting: Commit[] = [];
  #isScheduled = false;
  /** The commits that are offered again after the pause. */
  #failed: Commit[] = [];
  #pauseMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(store: Pick<Store, 'commit'>, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** Takes `commit.result` to the store at the end of this tick. */
  add(commit: Commit): void {
    this.#waiting.push(commit);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#flush);
  }

  /** Drops what has not been committed so far. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#failed = [];
  }

  readonly #flush = (): void => {
    this.#isScheduled = false;
    const batch = this.#waiting;
    this.#waiting = [];
    void this.#offer(batch);
  };

  async #offer(batch: readonly Commit[]): Promise<void> {
    let answers: readonly Committed[];
    try {
      answers = await this.#store.commit(batch.map(({ result }) => result));
    } catch (error) {
      this.#onFailure(batch, error);
      return;
    }
    if (this.#pauseMs > 0) {
      this.#pauseMs = 0;
      this.#log.info({}, 'the store takes outcomes of events again');
    }
    for (const [i, commit] of batch.entries()) {
      try {
        commit.onCommitted(answers[i] ?? UNKNOWN);
      } catch (fault) {
        this.#log.error({ reason: reasonOf(fault) }, 'a fault after the outcome of an event was committed');
      }
    }
  }

  #onFailure(batch: readonly Commit[], error: unknown): void {
    if (this.#isClosed) return;
    // An error of the store itself, which has a class of its own, concerns all commits alike.
    if (!(error instanceof GatewayError) || error instanceof InternalError) {
      if (batch.length > 1) {
        for (const commit of batch) void this.#offer([commit]);
        return;
      }
      const [commit] = batch;
      if (commit?.onRefused(error) === true) {
        this.add(commit);
        return;
      }
    }
    if (this.#pauseMs === 0) {
      this.#log.warn(
        { reason: reasonOf(error) },
        'the store does not take the outcome of events; it is tried again',
      );
    }
    this.#failed.push(...batch);
    if (this.#timer !== undefined) return;
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, this.#pauseMs * 2));
    this.#timer = setTimeout(this.#again, this.#pauseMs);
  }

  readonly #again = (): void => {
    this.#timer = undefined;
    const failed = this.#failed;
    this.#failed = [];
    for (const commit of failed) {
      if (commit.hasLostClaim()) commit.onGivenUp();
      else this.add(commit);
    }
  };
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
