// When a run is to end: by the time limit of its trigger, or before the platform takes no answer any more; and what is said of
// it then. The attempt as a whole has the patience of the most patient trigger (inbox/attempt.ts).

import { DeadlineError } from '../../base/errors/errors.ts';
import type { AnswerTime } from './answer-time.ts';
import type { TimeLimit } from './time-limit.ts';

export interface RunDeadlineOptions {
  /** Of the attempt. */
  readonly signal: AbortSignal;
  readonly limit: TimeLimit;
  /** Of the most patient trigger. */
  readonly longestMs: number;
  readonly answerTime: AnswerTime | undefined;
  /** The run was told to end since the platform soon takes no answer, and has not ended yet. */
  onLate(): void;
}

/** A run that is told to end does so within a moment; for one that does not, nobody waits with what is to be said of it. */
const PATIENCE_MS = 5_000;

export class RunDeadline {
  /** Aborted when the run is to end, for whatever reason. */
  readonly signal: AbortSignal;
  readonly limitMs: number;
  readonly #options: RunDeadlineOptions;
  readonly #own: AbortSignal | undefined;
  readonly #late = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RunDeadlineOptions) {
    const { signal, limit, longestMs, answerTime } = options;
    this.#options = options;
    const ms = limit.seconds * 1000;
    this.#own = ms < longestMs ? AbortSignal.timeout(Math.ceil(ms)) : undefined;
    this.limitMs = Math.min(ms, answerTime?.leftMs ?? ms);
    const signals = [signal, ...(this.#own === undefined ? [] : [this.#own])];
    if (answerTime !== undefined && answerTime.leftMs < ms) {
      this.#timer = setTimeout(() => this.#cut(tooLateNote(answerTime)), answerTime.leftMs).unref();
      signals.push(this.#late.signal);
    }
    this.signal = signals.length === 1 ? signal : AbortSignal.any(signals);
  }

  /** The platform soon takes no answer any more: why it was ended, for the record. */
  get lateNote(): string | undefined {
    const { aborted, reason } = this.#late.signal;
    return aborted ? (reason as Error).message : undefined;
  }

  /** Its time was over: why it was ended, for the record. */
  get overNote(): string | undefined {
    const { signal, limit } = this.#options;
    const isOver = this.#own?.aborted === true || signal.reason instanceof DeadlineError;
    return isOver ? `no answer within ${limit.field} (${limit.seconds})` : undefined;
  }

  /** The run is over. */
  end(): void {
    clearTimeout(this.#timer);
  }

  #cut(note: string): void {
    this.#late.abort(new DeadlineError(note));
    this.#timer = setTimeout(() => this.#options.onLate(), PATIENCE_MS).unref();
  }
}

/** Of an event that was being answered. */
const tooLateNote = ({ inWords }: AnswerTime) =>
  `no answer within the ${inWords} that the platform takes one`;
