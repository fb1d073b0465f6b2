import { expect, test } from 'vitest';
import { Claim } from '../../../../../actors/events/inbox/claim.ts';
import { newEvent } from '../../../../fixtures/automation/inbox.ts';

const KEY = 'conversation/a';
const claimed = (fence: number, heldUntil: number, seq = fence) => ({
  turn: {
    key: KEY,
    fence,
    event: { ...newEvent(KEY, `e${seq}`), seq, at: 1, attempt: 1, crashes: 0 },
    snapshot: undefined,
  },
  heldUntil,
  tenure: { isOver: false },
});

test('the newest claim is the one to be renewed, and one that waits begins after the end (TE1)', () => {
  const claim = new Claim(KEY);
  claim.begin(claimed(1, 100));
  claim.wait(claimed(2, 200));
  expect([claim.turn.fence, claim.newest.fence]).toEqual([1, 2]);
  claim.onRenewed(2, 300);
  expect([claim.isOver(99), claim.isOver(100)]).toEqual([false, true]);
  const next = claim.end();
  expect(next).toMatchObject({ turn: { fence: 2 }, heldUntil: 300 });
  expect(claim.end()).toBeUndefined();
});

test('one that waits is forgotten when its time is over, or when the store does not know it (TE2)', () => {
  const claim = new Claim(KEY);
  claim.begin(claimed(1, 1_000));
  claim.wait(claimed(2, 200));
  claim.dropOverdue(199);
  expect(claim.newest.fence).toBe(2);
  claim.dropOverdue(200);
  expect(claim.newest.fence).toBe(1);
  claim.wait(claimed(3, 300));
  expect(claim.onMissed(3)).toBe(false);
  expect(claim.newest.fence).toBe(1);
  expect([claim.onMissed(3), claim.onMissed(1)]).toEqual([false, true]);
});

test('of a turn that is over nothing is kept but the fence, by which turns in a row are counted (TE3)', () => {
  const claim = new Claim(KEY);
  const first = claimed(1, 100);
  claim.begin(first);
  claim.begin(claim.after(first.turn.event, 'left'));
  expect([claim.turnsInARow, claim.turn.snapshot]).toEqual([2, 'left']);
  claim.end();
  expect(claim.turn).toMatchObject({ fence: 1, event: { id: '', seq: 0 }, snapshot: undefined });
  claim.begin(claimed(2, 100));
  expect(claim.turnsInARow).toBe(1);
});
