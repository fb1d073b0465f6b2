// The end of a turn on its way to the store: the result that its attempt came to, until the store has taken it. A mailbox has
// one for all of its turns, and hears from it what became of them.
//
// A fault while an attempt is judged, and a result that the store refuses, leave a failed attempt behind.

import { defaultRetry } from '../../../machines/redelivery.ts';
import type { Committed, TurnResult } from '../../store/store.ts';
import type { Attempt } from './attempt.ts';
import type { Claim } from './claim.ts';
import type { Commit } from './committer.ts';
import type { Mailbox } from './mailbox.ts';
import { type ToBeTold, withNotice } from './notices.ts';
import { stoppedResult, turnResult } from './turn-result.ts';
import type { Outcome } from './work.ts';

/** The most turns in a row under one claim while other mailboxes wait for a place. */
const TURNS_IN_A_ROW = 32;

export class TurnCommit implements Commit {
  readonly #mailbox: Mailbox;
  readonly #claim: Claim;
  #result: TurnResult | undefined;
  #wasRefused = false;

  constructor(mailbox: Mailbox, claim: Claim) {
    this.#mailbox = mailbox;
    this.#claim = claim;
  }

  get result(): TurnResult {
    if (this.#result === undefined) throw new Error('there is nothing to commit');
    return this.#result;
  }

  /** Forgets the turn before. */
  clear(): void {
    this.#result = undefined;
    this.#wasRefused = false;
  }

  /** Commits what the attempt came to. */
  judged(attempt: Attempt | undefined): void {
    let result: TurnResult;
    try {
      result = this.#judge(attempt);
    } catch (fault) {
      const { queue } = this.#mailbox;
      queue.record.fault(this.#mailbox, queue.noteOf(fault));
      this.failed(fault);
      return;
    }
    this.#commit(result);
  }

  /** Commits that the attempt has failed by a fault of the gateway. */
  failed(fault: unknown): void {
    const note = `a fault of the gateway: ${this.#mailbox.queue.noteOf(fault)}`;
    this.#commit(this.#resultOf({ kind: 'failed', note, retry: defaultRetry }));
  }

  /** Gives the newest claim back, with an attempt that is none. */
  stopped(): void {
    const { newest } = this.#claim;
    this.#commit(stoppedResult(newest, newest.event));
  }

  hasLostClaim(): boolean {
    return this.#claim.isOver(performance.now());
  }

  onCommitted(committed: Committed): void {
    this.#mailbox.onCommitted(committed, this.result);
  }

  onRefused(error: unknown): boolean {
    if (this.#wasRefused) return false;
    this.#wasRefused = true;
    const note = `the store refuses its outcome: ${this.#mailbox.queue.noteOf(error)}`;
    this.#result = this.#resultOf({ kind: 'failed', note, retry: defaultRetry });
    return true;
  }

  onGivenUp(): void {
    this.#mailbox.onGivenUp();
  }

  #judge(attempt: Attempt | undefined): TurnResult {
    if (attempt === undefined) throw new Error('there is nothing to judge');
    const { turn } = this.#claim;
    const outcome = attempt.judged();
    if (outcome === undefined && attempt.cut === 'stopped') return stoppedResult(turn, turn.event);
    // A work that gives nothing is refused there.
    return this.#resultOf(outcome as Outcome);
  }

  #resultOf(outcome: Outcome): TurnResult {
    const { queue } = this.#mailbox;
    const { turn, turnsInARow } = this.#claim;
    const isLast = queue.isDraining || (turnsInARow >= TURNS_IN_A_ROW && queue.isFull);
    const result = turnResult(turn, turn.event, outcome, queue.random(), isLast, queue.noteOf);
    // A store that refuses an outcome may refuse it for what is said with it.
    if (this.#wasRefused) return result;
    try {
      return withNotice(result, turn.event, queue.work, Date.now(), toBeTold(outcome));
    } catch (error) {
      queue.record.unsaid(this.#mailbox, queue.noteOf(error));
      return result;
    }
  }

  #commit(result: TurnResult): void {
    this.#result = result;
    this.#mailbox.queue.committer.add(this);
  }
}

function toBeTold(outcome: Outcome): ToBeTold {
  return {
    ending: 'notice' in outcome ? outcome.notice : undefined,
    notAfter: 'notAfter' in outcome ? outcome.notAfter : undefined,
  };
}
