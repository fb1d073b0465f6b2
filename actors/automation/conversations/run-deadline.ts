// When a run is to end: by the time limit of its trigger, or before the platform takes no answer any more; and what is said of
// it then. A clock step after the event never adds time. The attempt as a whole has the patience of the most patient trigger
// (inbox/attempt.ts).

import type { Target } from '../../../config/resources/triggers/target.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { triggerTypes } from '../../../config/resources/triggers/trigger-types.ts';
import { DeadlineError } from '../../base/errors/errors.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import type { StoredEvent } from '../../store/event.ts';

/** Time limit for one attempt. */
export interface TimeLimit {
  readonly seconds: number;
  /** Configuration field of the limit. */
  readonly field: string;
}

/** Returns the trigger's limit; manual runs have a separate field. */
export function timeLimit(trigger: Trigger): TimeLimit {
  const byHand = triggerTypes[trigger.type].byHand?.timeLimit(trigger.config);
  return byHand ?? { seconds: trigger.timeout_seconds, field: 'timeout_seconds' };
}

/** Returns the limit for one attempt. Fleets and flows use `ownSeconds`: an earlier end could interrupt calls. */
export function attemptLimit(trigger: Trigger, { kind }: Target, ownSeconds: number | undefined): TimeLimit {
  const limit = timeLimit(trigger);
  if (kind === 'agent' || ownSeconds === undefined || ownSeconds <= limit.seconds) return limit;
  return { seconds: ownSeconds, field: `timeout_seconds of the ${kind}` };
}

/** Time until the platform refuses answers (`InboundEvent.answerBy`), minus a reserve for the failure message. */
export interface AnswerTime {
  /** Deadline, epoch milliseconds. */
  readonly endsAt: number;
  /** Milliseconds to the deadline, at least 0. */
  readonly leftMs: number;
  /** Description of the limit of the platform. */
  readonly inWords: string;
}

/** Reserve for the message about the end. */
const MARGIN_MS = 30_000;
/** Maximum part of the time that is reserved. */
const LARGEST_PART = 4;

/** Returns undefined if the platform sets no limit. `now` is epoch milliseconds. */
export function answerTime(
  { at }: StoredEvent,
  { answerBy }: InboundEvent,
  now: number,
): AnswerTime | undefined {
  if (answerBy === undefined) return undefined;
  const wholeMs = Math.max(0, answerBy - at);
  const marginMs = Math.min(MARGIN_MS, wholeMs / LARGEST_PART);
  const endsAt = answerBy - marginMs;
  const leftMs = Math.max(0, Math.min(endsAt - now, wholeMs - marginMs));
  return { endsAt, leftMs, inWords: inWords(wholeMs) };
}

function inWords(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 120 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`;
}

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
