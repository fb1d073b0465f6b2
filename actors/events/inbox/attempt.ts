// One attempt at an event: calls the handler (`Work.perform`), aborts it, and evaluates the outcome. An
// attempt past its deadline has failed; if the handler returned a failure itself, that failure is kept. A
// failed attempt that was interrupted by the gateway's shutdown does not count. A cancelled attempt without a
// final outcome settles the event as `ignored`.

import { defaultRetry } from '../../../machines/redelivery.ts';
import { DeadlineError, StoppedError } from '../../base/errors/errors.ts';
import type { Turn } from '../../store/store.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { AbortReason, MailboxLife } from './mailbox-life.ts';
import type { Effects, Work, WorkOutcome } from './work.ts';

/** Part of the mailbox that attempts need. */
export interface AttemptHost {
  /** Returns the redacted error text. */
  noteOf(error: unknown): string;
  /** Commits a checkpoint. */
  commitCheckpoint(attempt: Attempt, state: string | null | undefined, effects: Effects): Promise<void>;
  /** Receives `ended` once, asynchronously. */
  apply(event: { readonly type: 'ended' }): void;
}

/** Returns a failed outcome with the default retry policy. */
export const failedOutcome = (note: string, trigger?: string): WorkOutcome => ({
  kind: 'failed',
  note,
  trigger,
  retry: defaultRetry,
});

export class Attempt {
  checkpoint: Checkpoint | undefined;
  readonly #startedAt = performance.now();
  readonly #controller = new AbortController();
  #endedAt = this.#startedAt;
  #dueAt = Number.POSITIVE_INFINITY;
  #patienceUntil = Number.POSITIVE_INFINITY;
  #outcome: WorkOutcome | undefined;
  /** Resolves after the last pending checkpoint. */
  #pendingCheckpoint: Promise<void> | undefined;

  /** Duration of the finished attempt, in milliseconds. */
  get tookMs(): number {
    return this.#endedAt - this.#startedAt;
  }

  /** Returns the current run time; `now` in performance.now() milliseconds. */
  ageMs(now: number): number {
    return now - this.#startedAt;
  }

  /** Calls the handler. The host receives `ended` when the handler and all checkpoints have finished. */
  start(work: Work, { event, snapshot }: Turn, host: AttemptHost): void {
    const end = (outcome: WorkOutcome) => {
      this.#endedAt = performance.now();
      this.#outcome = outcome;
      if (this.#pendingCheckpoint === undefined) host.apply({ type: 'ended' });
      else void this.#pendingCheckpoint.finally(() => host.apply({ type: 'ended' }));
    };
    const fail = (error: unknown) => end(failedOutcome(host.noteOf(error)));
    const checkpoint = (state: string | null | undefined, effects: Effects = {}) =>
      this.#commitCheckpoint(host, state, effects);
    try {
      this.#dueAt = this.#startedAt + work.timeoutMs(event);
      work.perform({ event, snapshot, signal: this.#controller.signal, checkpoint }).then(end, fail);
    } catch (error) {
      queueMicrotask(() => fail(error));
    }
  }

  /** Commits checkpoints one by one. */
  #commitCheckpoint(host: AttemptHost, state: string | null | undefined, effects: Effects): Promise<void> {
    const commitCheckpoint = () => host.commitCheckpoint(this, state, effects);
    const stored =
      this.#pendingCheckpoint === undefined
        ? commitCheckpoint()
        : this.#pendingCheckpoint.then(commitCheckpoint);
    const pending = stored
      .catch(() => {})
      .then(() => {
        if (this.#pendingCheckpoint === pending) this.#pendingCheckpoint = undefined;
      });
    this.#pendingCheckpoint = pending;
    return stored;
  }

  /** Aborts the handler's signal; the handler should stop within `patienceMs`. */
  abort(reason: AbortReason | undefined, patienceMs: number): void {
    this.#patienceUntil = performance.now() + patienceMs;
    this.#controller.abort(
      reason === 'deadline'
        ? new DeadlineError('the attempt reached its deadline')
        : new StoppedError('the run was aborted'),
    );
  }

  /** Returns true after the deadline; `now` in performance.now() milliseconds, as below. */
  isOverdue(now: number): boolean {
    return now >= this.#dueAt;
  }

  /** Returns true if the aborted handler is still running after `patienceMs`. */
  isPatienceOver(now: number): boolean {
    return now >= this.#patienceUntil;
  }

  /**
   * Returns the outcome; 'none' if the attempt does not count. Undefined if the handler returned none, which
   * the caller commits as an internal error.
   */
  evaluate({ abortReason, note }: MailboxLife): WorkOutcome | 'none' | undefined {
    const outcome = this.#outcome;
    // The gateway stopped the run: the event is handled again, without counting this attempt.
    if (abortReason === 'stopped' && (outcome === undefined || outcome.kind === 'failed')) return 'none';
    // A run that completed in spite of the cancellation keeps its outcome.
    const hasCompleted = outcome !== undefined && outcome.kind !== 'parked' && !isFailureOrDeferral(outcome);
    if (abortReason === 'cancelled' && !hasCompleted)
      return { kind: 'ignored', trigger: outcome?.trigger, note, notice: 'stopped' };
    // After the deadline only a failure or deferral counts; every other outcome came too late.
    if (abortReason !== 'deadline' || (outcome !== undefined && isFailureOrDeferral(outcome))) return outcome;
    return failedOutcome(`the attempt did not end within ${Math.round(this.#dueAt - this.#startedAt)} ms`);
  }
}

function isFailureOrDeferral({ kind }: WorkOutcome): boolean {
  return kind === 'failed' || kind === 'deferred';
}
