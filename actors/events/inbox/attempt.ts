// One attempt at an event: it calls the work, aborts it at the deadline, and judges what the work answered.
//
// AT1  an attempt that ran past its deadline has failed, whatever it answers then; what it says of its failure counts.
// AT2  one that was cut short because the gateway stops, and did not come to an end all the same, is none at all.
// AT3  one that was cancelled, and did not come to an end all the same, leaves its event `ignored`: it is not wanted.

import { defaultRetry } from '../../../machines/redelivery.ts';
import { DeadlineError, StoppedError } from '../../base/errors/errors.ts';
import type { Turn } from '../../store/store.ts';
import type { Effects, Outcome, Work } from './work.ts';

/** What ended it before its time. */
export type Cut = 'deadline' | 'stopped' | 'cancelled' | 'lost' | 'fault';

/** What an attempt needs of its mailbox. */
export interface AttemptHost {
  /** Gives the text of an error as it may be shown. */
  noteOf(error: unknown): string;
  /** Has a checkpoint committed. */
  keep(attempt: Attempt, state: string | null | undefined, effects: Effects): Promise<void>;
  /** Called once, later: the attempt is over. */
  ended(): void;
}

export class Attempt {
  /** The first reason for which it was cut short; but a lost claim overrides any other. */
  cut: Cut | undefined;
  /** Why it was cancelled. */
  cancelNote: string | undefined;
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
      if (this.#keeping === undefined) host.ended();
      else void this.#keeping.finally(() => host.ended());
    };
    const fail = (error: unknown) => end({ kind: 'failed', note: host.noteOf(error), retry: defaultRetry });
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

  /** Called instead of `start` when the gateway stops. */
  skip(host: AttemptHost): void {
    this.cut = 'stopped';
    queueMicrotask(() => host.ended());
  }

  /** The same where the claim is lost before anything was begun. */
  drop(host: AttemptHost): void {
    this.cut = 'lost';
    queueMicrotask(() => host.ended());
  }

  /** Tells the work to end, and waits for it for so long. */
  abort(patienceMs: number): void {
    this.#patienceUntil = performance.now() + patienceMs;
    this.#controller.abort(
      this.cut === 'deadline'
        ? new DeadlineError('the attempt has taken as long as it may')
        : new StoppedError('the event is no longer handled here'),
    );
  }

  /** The deadline is over, and the work has not been told to end. `now` in performance.now() milliseconds, as below. */
  isOverdue(now: number): boolean {
    return this.cut === undefined && now >= this.#dueAt;
  }

  /** The work was told to end, and the time to wait for it is over. */
  isStubborn(now: number): boolean {
    return now >= this.#patienceUntil;
  }

  /** The result of the attempt; undefined when it does not count. */
  judged(): Outcome | undefined {
    const outcome = this.#outcome;
    if (this.cut === 'stopped' && (outcome === undefined || outcome.kind === 'failed')) return undefined;
    if (
      this.cut === 'cancelled' &&
      (outcome === undefined || outcome.kind === 'parked' || mayComeAgain(outcome))
    )
      return { kind: 'ignored', trigger: outcome?.trigger, note: this.cancelNote, notice: 'stopped' };
    if (this.cut !== 'deadline' || (outcome !== undefined && mayComeAgain(outcome))) return outcome;
    const note = `it had not ended after ${Math.round(this.#dueAt - this.#startedAt)} ms`;
    return { kind: 'failed', note, retry: defaultRetry };
  }
}

function mayComeAgain({ kind }: Outcome): boolean {
  return kind === 'failed' || kind === 'deferred';
}
