// Commits the result of the run. An internal error in the evaluation, or a result that the store refuses, is
// committed as a failed attempt.

import type { Committed, TurnResult } from '../../store/store.ts';
import { failedOutcome } from './attempt.ts';
import type { Claim } from './claim.ts';
import type { Commit, Committer } from './committer.ts';
import { type NoticeContext, withNotice } from './notices.ts';
import type { MeasuredMailbox, QueueMetrics } from './queue-metrics.ts';
import { stoppedResult, turnResult } from './turn-result.ts';
import type { Work, WorkOutcome } from './work.ts';

/**
 * Maximum number of consecutive events under the same claim if no slot is free; then the claim is released,
 * for other mailboxes.
 */
const TURNS_IN_A_ROW = 32;

/** Returns the outcome for internal errors. */
export const faultOutcome = (note: string): WorkOutcome =>
  failedOutcome(`internal error of the gateway: ${note}`);

/** Part of the queue that a commit needs. */
export interface CommitQueue {
  readonly work: Work;
  readonly metrics: QueueMetrics;
  readonly committer: Committer;
  readonly isDraining: boolean;
  readonly isFull: boolean;
  readonly noteOf: (error: unknown) => string;
  random(): number;
  /** Returns the store's time, epoch milliseconds. */
  now(): number;
}

interface CommittingMailbox extends MeasuredMailbox {
  readonly queue: CommitQueue;
  onCommitted(committed: Committed, result: TurnResult): void;
}

export class TurnCommit implements Commit {
  readonly #mailbox: CommittingMailbox;
  readonly #claim: Claim;
  #result: TurnResult;
  #wasRefused = false;
  /** Failure of a run that was not parked, committed after the checkpoint. */
  #failure: TurnResult | undefined;

  /**
   * `evaluate` returns the outcome. With 'none' the attempt does not count: the event returns to the queue,
   * and the claim is released.
   */
  constructor(mailbox: CommittingMailbox, claim: Claim, evaluate: () => WorkOutcome | 'none' | undefined) {
    this.#mailbox = mailbox;
    this.#claim = claim;
    try {
      const outcome = evaluate();
      // `stoppedResult` releases the claim. If the store has claimed the mailbox again in the meantime, the
      // claim of this run is void, and the newer claim, which waits for the end of the run, must be released.
      const { newestTurn } = claim;
      // For a missing outcome `turnResult` throws, which is committed as an internal error.
      this.#result =
        outcome === 'none'
          ? stoppedResult(newestTurn, newestTurn.event)
          : this.#resultOf(outcome as WorkOutcome);
    } catch (error) {
      const { queue } = mailbox;
      queue.metrics.noteFault(mailbox, queue.noteOf(error));
      this.#result = this.#resultOf(faultOutcome(queue.noteOf(error)));
    }
  }

  get result(): TurnResult {
    return this.#result;
  }

  hasLostClaim(): boolean {
    return this.#claim.mayHaveExpired(performance.now());
  }

  onCommitted(committed: Committed): void {
    if (this.#failure === undefined || !committed.isCurrent) {
      this.#mailbox.onCommitted(committed, this.#result);
      return;
    }
    this.#result = this.#failure;
    this.#failure = undefined;
    this.#mailbox.queue.committer.add(this);
  }

  /**
   * Commits the effects in a checkpoint before the failure, which commits none. Without the journal rows the
   * next attempt repeats steps. The state is omitted, because a new state resets the number of attempts.
   */
  onParkRefused(reason: string): void {
    const { key, fence, seq, trigger, snapshot, steps, run, emit, asks } = this.#result;
    this.#failure = this.#resultOf(failedOutcome(reason, trigger));
    this.#result = { key, fence, seq, outcome: 'checkpoint', snapshot, steps, run, emit, asks };
  }

  /** Returns true if the committer should store the new result. */
  onRefused(error: unknown): boolean {
    if (this.#wasRefused) return false;
    this.#wasRefused = true;
    this.#failure = undefined;
    this.#result = this.#resultOf(
      failedOutcome(`the store refuses the outcome: ${this.#mailbox.queue.noteOf(error)}`),
    );
    return true;
  }

  onGivenUp(): void {
    // The same as a lost claim: the result is not stored.
    this.onCommitted({ isCurrent: false, next: undefined });
  }

  #resultOf(outcome: WorkOutcome): TurnResult {
    const { queue } = this.#mailbox;
    const { turn, turnsInARow } = this.#claim;
    // Other mailboxes get the slot after TURNS_IN_A_ROW events, if the queue is full.
    const isLast = queue.isDraining || (turnsInARow >= TURNS_IN_A_ROW && queue.isFull);
    const now = queue.now();
    const result = turnResult(turn, turn.event, outcome, queue.random(), isLast, queue.noteOf, now);
    // The store possibly refused the result because of the notices.
    if (this.#wasRefused) return result;
    try {
      return withNotice(result, turn.event, queue.work, now, noticeContextOf(outcome));
    } catch (error) {
      queue.metrics.noteMissingNotice(this.#mailbox, queue.noteOf(error));
      return result;
    }
  }
}

function noticeContextOf(outcome: WorkOutcome): NoticeContext {
  return {
    ending: 'notice' in outcome ? outcome.notice : undefined,
    notAfter: 'notAfter' in outcome ? outcome.notAfter : undefined,
  };
}
