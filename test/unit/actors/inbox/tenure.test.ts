import { expect, test } from 'vitest';
import { Tenure } from '../../../../actors/inbox/tenure.ts';
import { newEvent } from '../../../fixtures/inbox.ts';

const KEY = 'conversation/a';
const claimed = (fence: number, heldUntil: number, seq = fence) => ({
  turn: {
    key: KEY,
    fence,
    event: { ...newEvent(KEY, `e${seq}`), seq, at: 1, attempt: 1, crashes: 0 },
    snapshot: undefined,
  },
  heldUntil,
});

test('the newest claim is the one to be renewed, and one that waits begins after the end (TE1)', () => {
  const tenure = new Tenure(KEY);
  tenure.begin(claimed(1, 100));
  tenure.wait(claimed(2, 200));
  expect([tenure.turn.fence, tenure.newest.fence]).toEqual([1, 2]);
  tenure.onRenewed(2, 300);
  expect([tenure.isOver(99), tenure.isOver(100)]).toEqual([false, true]);
  const next = tenure.end();
  expect(next).toMatchObject({ turn: { fence: 2 }, heldUntil: 300 });
  expect(tenure.end()).toBeUndefined();
});

test('one that waits is forgotten when its time is over, or when the store does not know it (TE2)', () => {
  const tenure = new Tenure(KEY);
  tenure.begin(claimed(1, 1_000));
  tenure.wait(claimed(2, 200));
  tenure.dropOverdue(199);
  expect(tenure.newest.fence).toBe(2);
  tenure.dropOverdue(200);
  expect(tenure.newest.fence).toBe(1);
  tenure.wait(claimed(3, 300));
  expect(tenure.onMissed(3)).toBe(false);
  expect(tenure.newest.fence).toBe(1);
  expect([tenure.onMissed(3), tenure.onMissed(1)]).toEqual([false, true]);
});

test('of a turn that is over nothing is kept but the fence, by which turns in a row are counted (TE3)', () => {
  const tenure = new Tenure(KEY);
  const { turn, heldUntil } = claimed(1, 100);
  tenure.begin({ turn, heldUntil });
  tenure.begin(tenure.after(turn.event, 'left'));
  expect([tenure.turnsInARow, tenure.turn.snapshot]).toEqual([2, 'left']);
  tenure.end();
  expect(tenure.turn).toMatchObject({ fence: 1, event: { id: '', seq: 0 }, snapshot: undefined });
  tenure.begin(claimed(2, 100));
  expect(tenure.turnsInARow).toBe(1);
});
