import { expect, test } from 'vitest';
import { turnResult } from '../../../../../actors/events/inbox/turn-result.ts';
import type { WorkOutcome } from '../../../../../actors/events/inbox/work.ts';
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

test('secrets in the note of an event outcome are redacted, for every kind of outcome', () => {
  const note = 'refused: Bearer hunter2';
  const outcomes: readonly WorkOutcome[] = [
    { kind: 'done', note },
    { kind: 'ignored', note },
    { kind: 'failed', note, retry: quickRetry },
    { kind: 'failed', note, isFinal: true, retry: quickRetry },
  ];
  const notes = outcomes.map((outcome) => {
    const redact = (text: string) => text.replace('hunter2', '***');
    return turnResult(claim, event, outcome, 0, false, redact, Date.now()).note;
  });
  expect(notes).toEqual(outcomes.map(() => 'refused: Bearer ***'));
});

test('attempts that ended with the process do not count against the limits of attempts and deferrals', () => {
  const retry = { ...quickRetry, attempts: 2 };
  const outcomeOf = (outcome: WorkOutcome, attempt: number, at = event.at) =>
    turnResult(claim, { ...event, at, attempt, crashes: 3 }, outcome, 0, false, String, Date.now()).outcome;
  const failed: WorkOutcome = { kind: 'failed', note: '', retry };
  expect([4, 5].map((attempt) => outcomeOf(failed, attempt))).toEqual(['retrying', 'dead']);
  const deferred: WorkOutcome = { kind: 'deferred', note: '', inMs: 1_000, retry };
  expect(outcomeOf(deferred, 5)).toBe('deferred');
  const old = event.at - 2 * 3_600_000;
  expect([4, 5].map((attempt) => outcomeOf(deferred, attempt, old))).toEqual(['retrying', 'dead']);
  // The platform was not contacted. Waiting in a long queue is not a failure.
  expect(outcomeOf({ ...deferred, isUncontacted: true }, 5, old)).toBe('deferred');
});

test('a deferred event is marked as claimed if it was claimed before or may have succeeded', () => {
  const wasClaimed = (before: boolean | undefined, mayHaveSucceeded: boolean | undefined) => {
    const deferred: WorkOutcome = {
      kind: 'deferred',
      note: '',
      inMs: 1_000,
      mayHaveSucceeded,
      retry: quickRetry,
    };
    const now = { ...event, at: Date.now(), wasClaimed: before };
    return turnResult(claim, now, deferred, 0, false, String, Date.now()).wasClaimed === true;
  };
  expect([wasClaimed(false, undefined), wasClaimed(undefined, false)]).toEqual([false, false]);
  expect([wasClaimed(true, false), wasClaimed(false, true)]).toEqual([true, true]);
});
