import { expect, test } from 'vitest';
import { turnResult } from '../../../../../actors/events/inbox/turn-result.ts';
import type { Outcome } from '../../../../../actors/events/inbox/work.ts';
import { quickRetry } from '../../../../fixtures/automation/inbox.ts';

const event = {
  seq: 1,
  id: 'a',
  key: 'k',
  meta: '',
  body: new Uint8Array(),
  trace: '',
  at: Date.now(),
  attempt: 1,
  crashes: 0,
};
const claim = { key: 'k', fence: 1 };

test('a note of any outcome has passed what takes secrets out of it (TR3)', () => {
  const note = 'refused: Bearer hunter2';
  const outcomes: readonly Outcome[] = [
    { kind: 'done', note },
    { kind: 'ignored', note },
    { kind: 'failed', note, retry: quickRetry },
    { kind: 'failed', note, isFinal: true, retry: quickRetry },
  ];
  const notes = outcomes.map((outcome) => {
    const shown = (text: string) => text.replace('hunter2', '***');
    return turnResult(claim, event, outcome, 0, false, shown).note;
  });
  expect(notes).toEqual(outcomes.map(() => 'refused: Bearer ***'));
});

test('what ended with the process is none of the attempts that may fail, or be put off', () => {
  const retry = { ...quickRetry, attempts: 2 };
  const outcomeOf = (outcome: Outcome, attempt: number, at = event.at) =>
    turnResult(claim, { ...event, at, attempt, crashes: 3 }, outcome, 0, false, String).outcome;
  const failed: Outcome = { kind: 'failed', note: '', retry };
  expect([4, 5].map((attempt) => outcomeOf(failed, attempt))).toEqual(['retrying', 'dead']);
  const deferred: Outcome = { kind: 'deferred', note: '', inMs: 1_000, retry };
  expect(outcomeOf(deferred, 5)).toBe('deferred');
  const old = event.at - 2 * 3_600_000;
  expect([4, 5].map((attempt) => outcomeOf(deferred, attempt, old))).toEqual(['retrying', 'dead']);
  // Whoever was not asked has refused nothing: a long queue is no failure of what stands in it.
  expect(outcomeOf({ ...deferred, isUnasked: true }, 5, old)).toBe('deferred');
});

test('what is put off is known to have been begun where it was before, or where it may have been done all the same', () => {
  const wasClaimed = (before: boolean | undefined, mayBeDone: boolean | undefined) => {
    const deferred: Outcome = { kind: 'deferred', note: '', inMs: 1_000, mayBeDone, retry: quickRetry };
    const now = { ...event, at: Date.now(), wasClaimed: before };
    return turnResult(claim, now, deferred, 0, false, String).wasClaimed === true;
  };
  expect([wasClaimed(false, undefined), wasClaimed(undefined, false)]).toEqual([false, false]);
  expect([wasClaimed(true, false), wasClaimed(false, true)]).toEqual([true, true]);
});
