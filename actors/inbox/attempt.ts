// One attempt at an event: the call of the work, its signal and its deadline, and how what it answered is to be taken.
//
// AT1  an attempt that ran past its deadline has failed, whatever it answers then; what it says of its failure counts.
// AT2  one that was cut short because the gateway stops, and did not come to an end all the same, is none at all.
// AT3  one that was cancelled, and did not come to an end all the same, leaves its event `ignored`: it is not wanted.

import { defaultRetry } from '../../machines/redelivery.ts';
import { DeadlineError, StoppedError } from '../errors.ts';
import type { Turn } from '../store/store.ts';
import type { Outcome, Work } from './work.ts';

/** What ended it before its time. */
export type Cut = 'deadline' | 'stopped' | 'cancelled' | 'lost' | 'fault';

export class Attempt {
  /** The first reason; but a claim that was lost counts more than any. */
  cut: Cut | undefined;
  /** Why it was cancelled. */
  cancelNote: string | undefined;
  readonly #startedAt = performance.now();
  readonly #controller = new AbortController();
  #endedAt = this.#startedAt;
  #dueAt = Number.POSITIVE_INFINITY;
  #patienceUntil = Number.POSITIVE_INFINITY;
  #outcome: Outcome | undefined;

  /** How long it took, in milliseconds. */
  get tookMs(): number {
    return this.#endedAt - this.#startedAt;
  }

  /** How long it has been going on; `now` in performance.now() milliseconds. */
  ageMs(now: number): number {
    return now - this.#startedAt;
  }

  /** Calls the work; `ended` is called once, later, when that is over. `noteOf` makes of an error what may be shown. */
  start(work: Work, { event, snapshot }: Turn, noteOf: (error: unknown) => string, ended: () => void): void {
    const end = (outcome: Outcome) => {
      this.#endedAt = performance.now();
      this.#outcome = outcome;
      ended();
    };
    const fail = (error: unknown) => end({ kind: 'failed', note: noteOf(error), retry: defaultRetry });
    try {
      this.#dueAt = this.#startedAt + work.timeoutMs(event);
      work.perform({ event, snapshot, signal: this.#controller.signal }).then(end, fail);
    } catch (error) {
      queueMicrotask(() => fail(error));
    }
  }

  /** Instead of `start`, when the gateway stops. */
  skip(ended: () => void): void {
    this.cut = 'stopped';
    queueMicrotask(ended);
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

  /** Its time is up, and it has not been told to end. `now` in performance.now() milliseconds, as below. */
  isOverdue(now: number): boolean {
    return this.cut === undefined && now >= this.#dueAt;
  }

  /** It was told to end, and has been waited for. */
  isStubborn(now: number): boolean {
    return now >= this.#patienceUntil;
  }

  /** What came of it; undefined when it does not count. */
  judged(): Outcome | undefined {
    const outcome = this.#outcome;
    if (this.cut === 'stopped' && (outcome === undefined || outcome.kind === 'failed')) return undefined;
    if (this.cut === 'cancelled' && (outcome === undefined || mayComeAgain(outcome)))
      return { kind: 'ignored', trigger: outcome?.trigger, note: this.cancelNote };
    if (this.cut !== 'deadline' || (outcome !== undefined && mayComeAgain(outcome))) return outcome;
    const note = `it had not ended after ${Math.round(this.#dueAt - this.#startedAt)} ms`;
    return { kind: 'failed', note, retry: defaultRetry };
  }
}

function mayComeAgain({ kind }: Outcome): boolean {
  return kind === 'failed' || kind === 'deferred';
}
