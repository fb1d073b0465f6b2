// What holds for attempts of any work: when there is to be no further one, how an event waits that has no place, and what becomes of
// one for which a platform was asked in vain.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { CRASH_LIMIT } from '../../../machines/crashes.ts';
import type { Outcome } from '../../events/inbox/work.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { StoredEvent } from '../../store/event.ts';
import type { AnswerTime } from '../conversations/run-deadline.ts';

/** Where a platform or an agent that takes no more does not say for how long. */
export const TOO_SOON_MS = 60_000;

/**
 * An attempt counts from its claim on. One whose claim ran out has failed, though nobody could say so; one that ended with the
 * process is the event's own affair.
 */
export function givenUp({ name, retry }: Trigger, event: StoredEvent): Outcome | undefined {
  const { attempt, crashes } = event;
  const final = { kind: 'failed', isFinal: true, trigger: name, retry } as const;
  if (crashes >= CRASH_LIMIT)
    return { ...final, note: `the gateway ended ${crashes} times while it was handled` };
  if (attempt - crashes <= retry.attempts) return undefined;
  return { ...final, note: `its ${retry.attempts} attempts are used up; the claim of the last one ran out` };
}

/** The platform takes no answer any more, or not for long enough. */
export function tooLate({ name, retry }: Trigger, { inWords }: AnswerTime): Outcome {
  const note = `nobody was asked: the ${inWords} within which the platform takes an answer are over, or nearly so`;
  return { kind: 'failed', trigger: name, note, isFinal: true, notice: 'late', retry };
}

/** An attempt was begun before this one, and what it did nobody may know. */
export const wasTried = ({ attempt, wasClaimed }: StoredEvent): boolean => attempt > 1 || wasClaimed === true;

/** It waits under the name that was given instead of a place. */
export function withoutPlace(heldBy: string, { name }: Trigger, whom: string, notAfter?: number): Outcome {
  const note = `it waits for a place: ${whom}, or this trigger, has as many events at work as it may have now`;
  return { kind: 'queued', heldBy, trigger: name, note, notAfter };
}

/** `error` is what the platform, or the way there, said. */
export function askedInVain(
  { name: trigger, retry }: Trigger,
  error: unknown,
): Extract<Outcome, { kind: 'deferred' | 'failed' }> {
  const note = error instanceof Error ? error.message : String(error);
  if (!(error instanceof DeliveryError)) return { kind: 'failed', trigger, note, retry };
  const { isFinal, isTooSoon, isUnasked, isOutcomeUnknown, retryAfterMs } = error;
  const told = isOutcomeUnknown ? `${note}; it may have arrived` : note;
  const inMs = retryAfterMs ?? TOO_SOON_MS;
  if (isTooSoon)
    return { kind: 'deferred', trigger, note: told, inMs, isUnasked, mayBeDone: isOutcomeUnknown, retry };
  return { kind: 'failed', trigger, note: told, isFinal, retryAfterMs, retry };
}
