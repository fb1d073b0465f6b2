// Commits the results of runs, in one store call per tick of the event loop. If the store fails, results are
// retried until their claims expire; then the store redelivers the events.
//
// Each commit receives exactly one call of `onCommitted` or `onGivenUp`, unless the process exits first. A
// result that the store refuses does not delay others: a failed batch is retried one by one, and a refused
// result is replaced once (`onRefused`). The queue is limited by the number of active mailboxes (A8,
// ARCHITECTURE.md).

import { GatewayError, InternalError } from '../../base/errors/errors.ts';
import type { Log } from '../../base/errors/log.ts';
import type { Committed, Store, TurnResult } from '../../store/store.ts';

export interface Commit {
  readonly result: TurnResult;
  /** Returns whether the claim has expired by the local clock; then the commit is not retried. */
  hasLostClaim(): boolean;
  onCommitted(response: Committed): void;
  /** Replaces `result`, because the store did not park the event. */
  onParkRefused?(reason: string): void;
  /** Replaces `result` by an acceptable result. Returns false if it was already replaced. */
  onRefused(error: unknown): boolean;
  /** Called instead of `onCommitted` if the committer abandons the result, because the claim has expired. */
  onGivenUp(): void;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
const MISSING_RESPONSE: Committed = { isCurrent: false, next: undefined };

export class Committer {
  readonly #store: Pick<Store, 'commit'>;
  readonly #log: Log;
  #queued: Commit[] = [];
  #isScheduled = false;
  /** Commits to retry after the pause. */
  #failedCommits: Commit[] = [];
  #pauseMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(store: Pick<Store, 'commit'>, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** Commits `commit.result` at the end of this tick. */
  add(commit: Commit): void {
    this.#queued.push(commit);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#flush);
  }

  /** Drops the uncommitted results. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#failedCommits = [];
  }

  readonly #flush = (): void => {
    this.#isScheduled = false;
    const batch = this.#queued;
    this.#queued = [];
    void this.#commit(batch);
  };

  async #commit(batch: readonly Commit[]): Promise<void> {
    let responses: readonly Committed[];
    try {
      responses = await this.#store.commit(batch.map(({ result }) => result));
    } catch (error) {
      this.#onFailure(batch, error);
      return;
    }
    if (this.#pauseMs > 0) {
      this.#pauseMs = 0;
      this.#log.info({}, 'the store accepts outcomes of events again');
    }
    for (const [i, commit] of batch.entries()) {
      try {
        this.#onResponse(commit, responses[i] ?? MISSING_RESPONSE);
      } catch (fault) {
        this.#log.error(
          { reason: reasonOf(fault) },
          'internal error after the outcome of an event was committed',
        );
      }
    }
  }

  #onResponse(commit: Commit, response: Committed): void {
    if (response.refusal === undefined) {
      commit.onCommitted(response);
      return;
    }
    commit.onParkRefused?.(response.refusal);
    this.add(commit);
  }

  #onFailure(batch: readonly Commit[], error: unknown): void {
    if (this.#isClosed) return;
    // A GatewayError, such as an unreachable database, concerns all commits; other errors may concern one
    // result.
    if (!(error instanceof GatewayError) || error instanceof InternalError) {
      if (batch.length > 1) {
        for (const commit of batch) void this.#commit([commit]);
        return;
      }
      const [commit] = batch;
      if (commit?.onRefused(error) === true) {
        this.add(commit);
        return;
      }
    }
    if (this.#pauseMs === 0) {
      this.#log.warn({ reason: reasonOf(error) }, 'the store does not accept outcomes of events; retrying');
    }
    this.#failedCommits.push(...batch);
    if (this.#timer !== undefined) return;
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, this.#pauseMs * 2));
    this.#timer = setTimeout(this.#retry, this.#pauseMs);
  }

  readonly #retry = (): void => {
    this.#timer = undefined;
    const commits = this.#failedCommits;
    this.#failedCommits = [];
    for (const commit of commits) {
      if (commit.hasLostClaim()) commit.onGivenUp();
      else this.add(commit);
    }
  };
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
