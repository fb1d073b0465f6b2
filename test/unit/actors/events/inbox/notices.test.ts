// Notices to senders of events that wait or end without an answer: stored with the commit, or sent by a
// timer.

import { describe, expect, test } from 'vitest';
import { withNotice } from '../../../../../actors/events/inbox/notices.ts';
import type { Work } from '../../../../../actors/events/inbox/work.ts';
import type { NewEvent, StoredEvent } from '../../../../../actors/store/event.ts';
import type { TurnResult } from '../../../../../actors/store/store.ts';

const AT = 1_000_000;
const event: StoredEvent = {
  id: 'chat:1',
  key: 'conversation/chat/1',
  meta: '',
  body: new Uint8Array(),
  trace: '',
  seq: 7,
  at: AT,
  attempt: 1,
  crashes: 0,
};
const rowOf = (notice: string): NewEvent => ({
  ...event,
  id: `outbox:chat:1/${notice}/1`,
  key: 'outbox/chat/1',
});
const work: Work = {
  prefix: 'conversation/',
  timeoutMs: () => 1,
  perform: async () => ({ kind: 'ignored' }),
  noticeRows: (_, notice) => [rowOf(notice)],
};
const resultOf = (outcome: TurnResult['outcome'], more: Partial<TurnResult> = {}): TurnResult => ({
  key: event.key,
  fence: 1,
  seq: 7,
  outcome,
  ...more,
});
const withNoticeAt = (result: TurnResult, of: StoredEvent = event, now = AT) =>
  withNotice(result, of, work, now);

describe('the sender of an event', () => {
  test('is notified that the event has failed, in the same commit', () => {
    const emit = [rowOf('other')];
    expect(withNoticeAt(resultOf('dead', { emit })).emit).toEqual([...emit, rowOf('failed')]);
  });

  test('is notified that the event waits if its next attempt is 3 seconds or more away', () => {
    for (const outcome of ['retrying', 'deferred'] as const) {
      expect(withNoticeAt(resultOf(outcome, { retryInMs: 3_000 })).emit).toEqual([rowOf('waits')]);
      expect(withNoticeAt(resultOf(outcome, { retryInMs: 2_999 })).emit).toBeUndefined();
    }
  });

  test('is notified that the event waits for a slot or a paused trigger, but only after 3 seconds', () => {
    const heldResult = resultOf('held', { heldBy: 'chat' });
    const timer = { id: 'notice/7', inMs: 3_000, event: rowOf('waits') };
    expect(withNoticeAt(heldResult).timers).toEqual([timer]);
    // A second deferral or a clock step does not restart the timer.
    expect(withNoticeAt(heldResult, event, AT + 1_000).timers).toEqual([{ ...timer, inMs: 2_000 }]);
    expect(withNoticeAt(heldResult, event, AT + 60_000).timers).toEqual([{ ...timer, inMs: 0 }]);
    expect(withNoticeAt(heldResult, event, AT - 60_000).timers).toEqual([timer]);
    expect(withNoticeAt(resultOf('queued', { heldBy: 'place: x' })).timers).toEqual([timer]);
  });

  test('is not notified when the gateway stops or the event was handled', () => {
    for (const result of [resultOf('queued'), resultOf('done'), resultOf('ignored')])
      expect(withNoticeAt(result)).toBe(result);
  });
});

test('a timer for a notice to the sender is cancelled when the event ends, unless it ends at the first attempt', () => {
  for (const outcome of ['done', 'ignored', 'dead'] as const) {
    const waited = withNoticeAt(resultOf(outcome), { ...event, wasClaimed: true });
    expect(waited.cancelTimers).toEqual(['notice/7', 'notice/7/late']);
    expect(withNoticeAt(resultOf(outcome), { ...event, attempt: 2 }).cancelTimers).toEqual([
      'notice/7',
      'notice/7/late',
    ]);
    expect(withNoticeAt(resultOf(outcome)).cancelTimers).toBeUndefined();
  }
});

test('for work that has no notices to senders, results stay unchanged', () => {
  const { noticeRows: _, ...silent } = work;
  const result = resultOf('dead');
  expect(withNotice(result, { ...event, attempt: 2 }, silent, AT)).toBe(result);
});
