// Outcomes of attempts that all kinds of work share: exhausted attempts, no free slot, failed requests to a
// platform.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { CRASH_LIMIT } from '../../../machines/crashes.ts';
import type { WorkOutcome } from '../../events/inbox/work.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { StoredEvent } from '../../store/event.ts';
import type { AnswerTime } from '../conversations/run-deadline.ts';

/** Pause after rate limits, unless the platform requests another pause. */
export const RATE_LIMIT_PAUSE_MS = 60_000;

/**
 * Returns the final outcome if all attempts are used, or if the process crashed CRASH_LIMIT times while it
 * handled the event. `attempt` counts the claims of the event, so an attempt whose claim expired is included.
 * Attempts that ended with a crash of the process are subtracted, because `crashes` has a separate limit.
 */
export function exhaustedOutcome({ name, retry }: Trigger, event: StoredEvent): WorkOutcome | undefined {
  const { attempt, crashes } = event;
  const final = { kind: 'failed', isFinal: true, trigger: name, retry } as const;
  if (crashes >= CRASH_LIMIT)
    return { ...final, note: `the gateway ended ${crashes} times while it was handled` };
  if (attempt - crashes <= retry.attempts) return undefined;
  return { ...final, note: `all ${retry.attempts} attempts are used; the last claim expired` };
}

/** Returns the outcome when the event's reply deadline has passed or is too close. */
export function lateOutcome({ name, retry }: Trigger, { limitText }: AnswerTime): WorkOutcome {
  const note = `not started: the reply time of the platform (${limitText}) is over or almost over`;
  return { kind: 'failed', trigger: name, note, isFinal: true, notice: 'late', retry };
}

/** Returns true if an earlier attempt started; its effects may be unknown. */
export const wasTried = ({ attempt, wasClaimed }: StoredEvent): boolean => attempt > 1 || wasClaimed === true;

/**
 * Returns the outcome if no slot is free. `heldBy` is the name of the slot group in which the event waits
 * (work-slots.ts). `targetName` is the agent or the address, for the note. `notAfter` is the latest useful
 * time of the result, in epoch ms.
 */
export function queuedOutcome(
  heldBy: string,
  { name }: Trigger,
  targetName: string,
  notAfter?: number,
): WorkOutcome {
  const note = `waiting for a slot: ${targetName} or this trigger has reached the limit of running events`;
  return { kind: 'queued', heldBy, trigger: name, note, notAfter };
}

/** Returns the outcome for a failed request to the platform. */
export function failedRequestOutcome(
  { name: trigger, retry }: Trigger,
  error: unknown,
): Extract<WorkOutcome, { kind: 'deferred' | 'failed' }> {
  const note = error instanceof Error ? error.message : String(error);
  if (!(error instanceof DeliveryError)) return { kind: 'failed', trigger, note, retry };
  // `isUncontacted`: a rate limit of the gateway refused the request before it was sent.
  const { isFinal, isRateLimited, isUncontacted, isOutcomeUnknown, retryAfterMs } = error;
  const fullNote = isOutcomeUnknown ? `${note}; it may have arrived` : note;
  const inMs = retryAfterMs ?? RATE_LIMIT_PAUSE_MS;
  if (isRateLimited)
    return {
      kind: 'deferred',
      trigger,
      note: fullNote,
      inMs,
      isUncontacted,
      mayHaveSucceeded: isOutcomeUnknown,
      retry,
    };
  return { kind: 'failed', trigger, note: fullNote, isFinal, retryAfterMs, retry };
}
