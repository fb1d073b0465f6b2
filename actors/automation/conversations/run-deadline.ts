// Run deadline: the timeout of the trigger or the reply deadline of the platform, with a note for the
// delivery record. Clock changes never add time. A run is part of an attempt, which has its own limit: the
// longest timeout of all triggers (events/inbox/attempt.ts).

import type { Target } from '../../../config/resources/triggers/target.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { triggerTypes } from '../../../config/resources/triggers/trigger-types.ts';
import { DeadlineError } from '../../base/errors/errors.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import type { StoredEvent } from '../../store/event.ts';

/** Time limit per attempt. */
export interface TimeLimit {
  readonly seconds: number;
  /** Configuration field of the limit. */
  readonly field: string;
}

/** Returns the trigger's limit. Triggers of type Manual have a separate field for it. */
export function timeLimit(trigger: Trigger): TimeLimit {
  const manualLimit = triggerTypes[trigger.type].byHand?.timeLimit(trigger.config);
  return manualLimit ?? { seconds: trigger.timeout_seconds, field: 'timeout_seconds' };
}

/**
 * Returns the limit per attempt. For fleets and flows it is at least `ownSeconds`, the timeout of the fleet
 * or flow itself. With a lower limit, the attempt could interrupt calls that the fleet or flow still allows.
 */
export function attemptLimit(trigger: Trigger, { kind }: Target, ownSeconds: number | undefined): TimeLimit {
  const limit = timeLimit(trigger);
  if (kind === 'agent' || ownSeconds === undefined || ownSeconds <= limit.seconds) return limit;
  return { seconds: ownSeconds, field: `timeout_seconds of the ${kind}` };
}

/**
 * Time until the platform rejects answers (`InboundEvent.answerBy`), minus a reserve for the failure message.
 */
export interface AnswerTime {
  /** Deadline, epoch milliseconds. */
  readonly endsAt: number;
  /** Milliseconds to the deadline, at least 0. */
  readonly remainingMs: number;
  /** Description of the platform's limit. */
  readonly limitText: string;
}

/** Reserve for the failure message. */
const MARGIN_MS = 30_000;
/** The reserve is at most this fraction of the time: 1/4. */
const MARGIN_DIVISOR = 4;

/** Returns undefined if the platform sets no limit. `now` is epoch milliseconds. */
export function answerTime(
  { at }: StoredEvent,
  { answerBy }: InboundEvent,
  now: number,
): AnswerTime | undefined {
  if (answerBy === undefined) return undefined;
  const totalMs = Math.max(0, answerBy - at);
  const marginMs = Math.min(MARGIN_MS, totalMs / MARGIN_DIVISOR);
  const endsAt = answerBy - marginMs;
  const remainingMs = Math.max(0, Math.min(endsAt - now, totalMs - marginMs));
  return { endsAt, remainingMs, limitText: durationText(totalMs) };
}

function durationText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 120 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`;
}

export interface RunDeadlineOptions {
  /** Signal of the attempt. */
  readonly signal: AbortSignal;
  readonly limit: TimeLimit;
  /** Longest timeout across triggers, which limits the attempt. */
  readonly longestMs: number;
  readonly answerTime: AnswerTime | undefined;
  /** Called if the run is still running some seconds after its abort at the reply deadline. */
  onLate(): void;
}

/** Grace period for an aborted run. A run that lasts longer does not delay the notice to the sender. */
const GRACE_MS = 5_000;

export class RunDeadline {
  /** Aborted when the run must stop for any reason. */
  readonly signal: AbortSignal;
  readonly limitMs: number;
  readonly #options: RunDeadlineOptions;
  /** Aborted at the time limit; undefined if the attempt has the same limit. */
  readonly #timeout: AbortSignal | undefined;
  readonly #late = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RunDeadlineOptions) {
    const { signal, limit, longestMs, answerTime } = options;
    this.#options = options;
    const ms = limit.seconds * 1000;
    this.#timeout = ms < longestMs ? AbortSignal.timeout(Math.ceil(ms)) : undefined;
    this.limitMs = Math.min(ms, answerTime?.remainingMs ?? ms);
    const signals = this.#timeout === undefined ? [signal] : [signal, this.#timeout];
    if (answerTime !== undefined && answerTime.remainingMs < ms) {
      this.#timer = setTimeout(
        () => this.#abortLate(tooLateNote(answerTime)),
        answerTime.remainingMs,
      ).unref();
      signals.push(this.#late.signal);
    }
    this.signal = signals.length === 1 ? signal : AbortSignal.any(signals);
  }

  /** Reason for the record if the reply deadline has stopped the run. */
  get lateNote(): string | undefined {
    const { aborted, reason } = this.#late.signal;
    return aborted ? (reason as Error).message : undefined;
  }

  /** Reason for the record if the time limit has stopped the run. */
  get timeoutNote(): string | undefined {
    const { signal, limit } = this.#options;
    const hasTimedOut = this.#timeout?.aborted === true || signal.reason instanceof DeadlineError;
    return hasTimedOut ? `no answer within ${limit.field} (${limit.seconds})` : undefined;
  }

  /** Clears the timers. */
  end(): void {
    clearTimeout(this.#timer);
  }

  #abortLate(note: string): void {
    this.#late.abort(new DeadlineError(note));
    this.#timer = setTimeout(() => this.#options.onLate(), GRACE_MS).unref();
  }
}

/** Returns the note for a run that was stopped at the reply deadline. */
const tooLateNote = ({ limitText }: AnswerTime) =>
  `no answer within the reply time of the platform (${limitText})`;
