// One attempt at an event: it calls the work, aborts it at the deadline, and judges what the work answered.
//
// AT1  an attempt that ran past its deadline has failed, whatever it answers then; what it says of its failure counts.
// AT2  one that was cut short because the gateway stops, and did not come to an end all the same, is none at all.
// AT3  one that was cancelled, and did not come to an end all the same, leaves its event `ignored`: it is not wanted.

import { defaultRetry } from '../../../machines/redelivery.ts';
import { DeadlineError, StoppedError } from '../../base/errors/errors.ts';
import type { Turn } from '../../store/store.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { MailboxLife } from './mailbox-life.ts';
import type { Effects, Outcome, Work } from './work.ts';

/** What an attempt needs of its mailbox. */
export interface AttemptHost {
  /** Gives the text of an error as it may be shown. */
  noteOf(error: unknown): string;
  /** Has a checkpoint committed. */
  keep(attempt: Attempt, state: string | null | undefined, effects: Effects): Promise<void>;
  /** Receives `ended` once, asynchronously. */
  apply(event: { readonly type: 'ended' }): void;
}

/** Outcome of a failure without a trigger. */
export const failure = (note: string): Outcome => ({ kind: 'failed', note, retry: defaultRetry });

export class Attempt {
  /** The last checkpoint. */
  checkpoint: Checkpoint | undefined;
  readonly #startedAt = performance.now();
  readonly #controller = new AbortController();
  #endedAt = this.#startedAt;
  #dueAt = Number.POSITIVE_INFINITY;
  #patienceUntil = Number.POSITIVE_INFINITY;
  #outcome: Outcome | undefined;
  /** The last checkpoint, until it is kept or refused. */
  #keeping: Promise<void> | undefined;

  /** How long the attempt took, in milliseconds. */
  get tookMs(): number {
    return this.#endedAt - this.#startedAt;
  }

  /** How long the attempt has been running; `now` in performance.now() milliseconds. */
  ageMs(now: number): number {
    return now - this.#startedAt;
  }

  /** Calls the work. */
  start(work: Work, { event, snapshot }: Turn, host: AttemptHost): void {
    const end = (outcome: Outcome) => {
      this.#endedAt = performance.now();
      this.#outcome = outcome;
      if (this.#keeping === undefined) host.apply({ type: 'ended' });
      else void this.#keeping.finally(() => host.apply({ type: 'ended' }));
    };
    const fail = (error: unknown) => end(failure(host.noteOf(error)));
    const checkpoint = (state: string | null | undefined, effects: Effects = {}) =>
      this.#keep(host, state, effects);
    try {
      this.#dueAt = this.#startedAt + work.timeoutMs(event);
      work.perform({ event, snapshot, signal: this.#controller.signal, checkpoint }).then(end, fail);
    } catch (error) {
      queueMicrotask(() => fail(error));
    }
  }

  /** Checkpoints are committed one after the other. */
  #keep(host: AttemptHost, state: string | null | undefined, effects: Effects): Promise<void> {
    const keep = () => host.keep(this, state, effects);
    const kept = this.#keeping === undefined ? keep() : this.#keeping.then(keep);
    const keeping = kept
      .catch(() => {})
      .then(() => {
        if (this.#keeping === keeping) this.#keeping = undefined;
      });
    this.#keeping = keeping;
    return kept;
  }

  /** Aborts the signal of the work, and starts the patience. */
  abort(cut: MailboxLife['cut'], patienceMs: number): void {
    this.#patienceUntil = performance.now() + patienceMs;
    this.#controller.abort(
      cut === 'deadline'
        ? new DeadlineError('the attempt has taken as long as it may')
        : new StoppedError('the event is no longer handled here'),
    );
  }

  /** True after the deadline; `now` in performance.now() milliseconds, as below. */
  isOverdue(now: number): boolean {
    return now >= this.#dueAt;
  }

  /** True when an aborted work still runs after the patience. */
  isStubborn(now: number): boolean {
    return now >= this.#patienceUntil;
  }

  /** Returns the outcome of the attempt; 'none' for an attempt that does not count. */
  judge({ cut, note }: MailboxLife): Outcome | 'none' | undefined {
    const outcome = this.#outcome;
    if (cut === 'stopped' && (outcome === undefined || outcome.kind === 'failed')) return 'none';
    if (cut === 'cancelled' && (outcome === undefined || outcome.kind === 'parked' || mayComeAgain(outcome)))
      return { kind: 'ignored', trigger: outcome?.trigger, note, notice: 'stopped' };
    if (cut !== 'deadline' || (outcome !== undefined && mayComeAgain(outcome))) return outcome;
    return failure(`it had not ended after ${Math.round(this.#dueAt - this.#startedAt)} ms`);
  }
}

function mayComeAgain({ kind }: Outcome): boolean {
  return kind === 'failed' || kind === 'deferred';
}
