// Converts a run's outcome into the result to commit, and applies the redelivery policy: retry, defer or
// dead. A failed attempt commits only its note: no snapshot, event or timer. Notes are redacted, since error
// texts can repeat the input (A9, ARCHITECTURE.md).

import { deferral, redelivery } from '../../../machines/redelivery.ts';
import type { StoredEvent } from '../../store/event.ts';
import type { TurnRef, TurnResult } from '../../store/store.ts';
import { checkState, effectsOf } from './checkpoint.ts';
import type { WorkOutcome } from './work.ts';

/**
 * Returns the result to commit. `random` is in 0…1. With `isLast` the store releases the claim even if the
 * key has more events. `noteOf` redacts a text. `now` is the store's time. Throws TypeError for unknown kinds
 * of outcomes.
 */
export function turnResult(
  claim: TurnRef,
  event: StoredEvent,
  outcome: WorkOutcome,
  random: number,
  isLast: boolean,
  noteOf: (text: string) => string,
  now: number,
): TurnResult {
  const { key, fence } = claim;
  const { seq } = event;
  switch (outcome.kind) {
    case 'done':
    case 'ignored': {
      const { kind, trigger, note, answer, by, receipt } = outcome;
      return {
        key,
        fence,
        seq,
        outcome: kind,
        trigger,
        note: note === undefined ? undefined : noteOf(note),
        answer,
        by,
        receipt,
        isLast,
        ...effectsOf(outcome),
      };
    }
    case 'parked': {
      const { parkedOn, holdsKey, state, trigger, note } = outcome;
      checkState(state);
      const stored = { ...effectsOf(outcome), state };
      const labels = { trigger, note: note === undefined ? undefined : noteOf(note) };
      return { key, fence, seq, outcome: 'parked', parkedOn, holdsKey, ...stored, ...labels, isLast };
    }
    case 'held':
      return { key, fence, seq, outcome: 'held', heldBy: outcome.trigger, trigger: outcome.trigger, isLast };
    case 'queued': {
      const { heldBy, trigger, note } = outcome;
      return { key, fence, seq, outcome: 'queued', heldBy, trigger, note: noteOf(note), isLast };
    }
    case 'failed': {
      const { trigger, isFinal, retryAfterMs, notAfter } = outcome;
      const note = noteOf(outcome.note);
      // A crash of the process is not a failure of the handler.
      const attempt = event.attempt - event.crashes;
      const next = redelivery(outcome.retry, { attempt, isFinal, retryAfterMs }, random);
      if (next.do === 'dead') return { key, fence, seq, outcome: 'dead', trigger, note, isLast };
      if (isTooLate(now, next.inMs, notAfter))
        return { key, fence, seq, outcome: 'dead', trigger, note: note + NO_LATER, isLast };
      return { key, fence, seq, outcome: 'retrying', retryInMs: next.inMs, trigger, note, isLast };
    }
    case 'deferred': {
      const { trigger, inMs, isUncontacted, mayHaveSucceeded, notAfter } = outcome;
      const note = noteOf(outcome.note);
      // Includes earlier attempts, whose effects are unknown.
      const mayHaveEffects = mayHaveSucceeded === true || event.wasClaimed;
      const attempt = event.attempt - event.crashes;
      const rateLimit = { attempt, ageMs: now - event.at, inMs, isUncontacted };
      const next = deferral(outcome.retry, rateLimit, random);
      if (next.do === 'dead') return { key, fence, seq, outcome: 'dead', trigger, note, isLast };
      if (isTooLate(now, next.inMs, notAfter))
        return { key, fence, seq, outcome: 'dead', trigger, note: note + NO_LATER, isLast };
      const wait = { key, fence, seq, retryInMs: next.inMs, trigger, note, isLast };
      return next.do === 'defer'
        ? { ...wait, outcome: 'deferred', wasClaimed: mayHaveEffects }
        : { ...wait, outcome: 'retrying' };
    }
    default:
      throw new TypeError('the work returned an outcome of unknown kind');
  }
}

const NO_LATER = '; a later attempt would be too late';

/** Returns whether a retry in `inMs` would start after `notAfter` (epoch ms). */
function isTooLate(now: number, inMs: number, notAfter: number | undefined): boolean {
  return notAfter !== undefined && now + inMs >= notAfter;
}

/**
 * Returns the result for a stopped run: the event is queued again, its claim is released, and no attempt is
 * counted.
 */
export function stoppedResult({ key, fence }: TurnRef, { seq }: StoredEvent): TurnResult {
  return {
    key,
    fence,
    seq,
    outcome: 'queued',
    note: 'the gateway was stopped',
    isLast: true,
  };
}
