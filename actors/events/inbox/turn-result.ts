// Makes the result that is committed for a turn from the outcome of the work, by the policy of redelivery.
//
// TR1  an attempt that was cut short because the gateway stops is none: it counts for nothing, and the event waits again.
// TR2  of a failed attempt nothing is taken but its note: no snapshot, no emitted event, no timer. What is told to whoever
//      sent the event comes to it afterwards (notices.ts).
// TR3  a note has passed `noteOf`: what others say of a failure may repeat what they were sent (A9).
// TR4  what nobody wants after some time is not put off beyond it.

import { deferral, redelivery } from '../../../machines/redelivery.ts';
import type { StoredEvent } from '../../store/event.ts';
import type { TurnRef, TurnResult } from '../../store/store.ts';
import { checkState, effectsOf } from './checkpoint.ts';
import type { Outcome } from './work.ts';

/**
 * The result to be committed; `random` lies in 0…1. With `isLast` the claim is given back although more may wait.
 * `noteOf` makes of a text what may be shown. Throws TypeError for an outcome of no known kind.
 */
export function turnResult(
  claim: TurnRef,
  event: StoredEvent,
  outcome: Outcome,
  random: number,
  isLast: boolean,
  noteOf: (text: string) => string,
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
      const kept = { ...effectsOf(outcome), state };
      const said = { trigger, note: note === undefined ? undefined : noteOf(note) };
      return { key, fence, seq, outcome: 'parked', parkedOn, holdsKey, ...kept, ...said, isLast };
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
      // That the process ended was no failure of the handler.
      const attempt = event.attempt - event.crashes;
      const next = redelivery(outcome.retry, { attempt, isFinal, retryAfterMs }, random);
      if (next.do === 'dead') return { key, fence, seq, outcome: 'dead', trigger, note, isLast };
      if (isTooLate(next.inMs, notAfter))
        return { key, fence, seq, outcome: 'dead', trigger, note: note + NO_LATER, isLast };
      return { key, fence, seq, outcome: 'retrying', retryInMs: next.inMs, trigger, note, isLast };
    }
    case 'deferred': {
      const { trigger, inMs, isUnasked, mayBeDone, notAfter } = outcome;
      const note = noteOf(outcome.note);
      const wasClaimed = mayBeDone === true || event.wasClaimed;
      const attempt = event.attempt - event.crashes;
      const tooSoon = { attempt, ageMs: Date.now() - event.at, inMs, isUnasked };
      const next = deferral(outcome.retry, tooSoon, random);
      if (next.do === 'dead') return { key, fence, seq, outcome: 'dead', trigger, note, isLast };
      if (isTooLate(next.inMs, notAfter))
        return { key, fence, seq, outcome: 'dead', trigger, note: note + NO_LATER, isLast };
      const wait = { key, fence, seq, retryInMs: next.inMs, trigger, note, isLast };
      return next.do === 'defer'
        ? { ...wait, outcome: 'deferred', wasClaimed }
        : { ...wait, outcome: 'retrying' };
    }
    default:
      throw new TypeError('the work gave an outcome of no known kind');
  }
}

const NO_LATER = '; a later attempt would be too late';

/** `notAfter` is epoch ms. */
function isTooLate(inMs: number, notAfter: number | undefined): boolean {
  return notAfter !== undefined && Date.now() + inMs >= notAfter;
}

/** Gives the claim back at once, for whoever runs next. */
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
