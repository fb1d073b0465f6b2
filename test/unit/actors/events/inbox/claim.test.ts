import { expect, test } from 'vitest';
import { Claim } from '../../../../../actors/events/inbox/claim.ts';
import { newEvent } from '../../../../fixtures/automation/inbox.ts';

const KEY = 'conversation/a';
const claimed = (fence: number, expiresAt: number, seq = fence) => ({
  turn: {
    key: KEY,
    fence,
    event: { ...newEvent(KEY, `e${seq}`), seq, at: 1, attempt: 1, crashes: 0 },
    snapshot: undefined,
  },
  expiresAt,
  epoch: { isOver: false },
});

test('the newest claim of an event queue is renewed, and a queued claim begins when the current run ends', () => {
  const claim = new Claim(KEY);
  claim.begin(claimed(1, 100));
  claim.queue(claimed(2, 200));
  expect([claim.turn.fence, claim.newestTurn.fence]).toEqual([1, 2]);
  claim.onRenewed(2, 300);
  expect([claim.mayHaveExpired(99), claim.mayHaveExpired(100)]).toEqual([false, true]);
  const next = claim.finish();
  expect(next).toMatchObject({ turn: { fence: 2 }, expiresAt: 300 });
  expect(claim.finish()).toBeUndefined();
});

test('a queued claim is dropped when it expires, or when the store no longer has it', () => {
  const claim = new Claim(KEY);
  claim.begin(claimed(1, 1_000));
  claim.queue(claimed(2, 200));
  claim.dropExpiredQueued(199);
  expect(claim.newestTurn.fence).toBe(2);
  claim.dropExpiredQueued(200);
  expect(claim.newestTurn.fence).toBe(1);
  claim.queue(claimed(3, 300));
  expect(claim.onClaimGone(3)).toBe(false);
  expect(claim.newestTurn.fence).toBe(1);
  expect([claim.onClaimGone(3), claim.onClaimGone(1)]).toEqual([false, true]);
});

test('a finished claim keeps only its fencing token, to count the consecutive events under this token', () => {
  const claim = new Claim(KEY);
  const first = claimed(1, 100);
  claim.begin(first);
  claim.begin(claim.nextTurn(first.turn.event, 'left'));
  expect([claim.turnsInARow, claim.turn.snapshot]).toEqual([2, 'left']);
  claim.finish();
  expect(claim.turn).toMatchObject({ fence: 1, event: { id: '', seq: 0 }, snapshot: undefined });
  claim.begin(claimed(2, 100));
  expect(claim.turnsInARow).toBe(1);
});
