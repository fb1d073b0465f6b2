// Commits the result of one turn. A fault while judging the attempt, and a result that the store refuses, become a
// failed attempt.

import type { Committed, TurnResult } from '../../store/store.ts';
import { failure } from './attempt.ts';
import type { Claim } from './claim.ts';
import type { Commit, Committer } from './committer.ts';
import { type ToBeTold, withNotice } from './notices.ts';
import type { MeasuredMailbox, QueueMetrics } from './queue-metrics.ts';
import { stoppedResult, turnResult } from './turn-result.ts';
import type { Outcome, Work } from './work.ts';

/** The most turns in a row under one claim while other mailboxes wait for a place. */
const TURNS_IN_A_ROW = 32;

/** Outcome of a fault of the gateway. */
export const faultOutcome = (note: string): Outcome => failure(`a fault of the gateway: ${note}`);

/** The queue of a mailbox, as far as a commit needs it. */
export interface CommitQueue {
  readonly work: Work;
  readonly record: QueueMetrics;
  readonly committer: Committer;
  readonly isDraining: boolean;
  readonly isFull: boolean;
  readonly noteOf: (error: unknown) => string;
  random(): number;
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

  /** `judge` returns the outcome of the turn; 'none' releases the newest claim. */
  constructor(mailbox: CommittingMailbox, claim: Claim, judge: () => Outcome | 'none' | undefined) {
    this.#mailbox = mailbox;
    this.#claim = claim;
    try {
      const outcome = judge();
      const { newest } = claim;
      // `turnResult` rejects a missing outcome.
      this.#result =
        outcome === 'none' ? stoppedResult(newest, newest.event) : this.#resultOf(outcome as Outcome);
    } catch (fault) {
      const { queue } = mailbox;
      queue.record.fault(mailbox, queue.noteOf(fault));
      this.#result = this.#resultOf(faultOutcome(queue.noteOf(fault)));
    }
  }

  get result(): TurnResult {
    return this.#result;
  }

  hasLostClaim(): boolean {
    return this.#claim.isOver(performance.now());
  }

  onCommitted(committed: Committed): void {
    this.#mailbox.onCommitted(committed, this.#result);
  }

  onRefused(error: unknown): boolean {
    if (this.#wasRefused) return false;
    this.#wasRefused = true;
    this.#result = this.#resultOf(
      failure(`the store refuses its outcome: ${this.#mailbox.queue.noteOf(error)}`),
    );
    return true;
  }

  onGivenUp(): void {
    this.onCommitted({ isCurrent: false, next: undefined });
  }

  #resultOf(outcome: Outcome): TurnResult {
    const { queue } = this.#mailbox;
    const { turn, turnsInARow } = this.#claim;
    const isLast = queue.isDraining || (turnsInARow >= TURNS_IN_A_ROW && queue.isFull);
    const result = turnResult(turn, turn.event, outcome, queue.random(), isLast, queue.noteOf);
    // The store may have refused the notices.
    if (this.#wasRefused) return result;
    try {
      return withNotice(result, turn.event, queue.work, Date.now(), toBeTold(outcome));
    } catch (error) {
      queue.record.unsaid(this.#mailbox, queue.noteOf(error));
      return result;
    }
  }
}

function toBeTold(outcome: Outcome): ToBeTold {
  return {
    ending: 'notice' in outcome ? outcome.notice : undefined,
    notAfter: 'notAfter' in outcome ? outcome.notAfter : undefined,
  };
}
