// A message that changes while its answer is made: what an edit may take, what it may fail with, and who gets none.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Draft } from '../../../../../actors/automation/conversations/draft.ts';
import type { Effects } from '../../../../../actors/events/inbox/work.ts';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import type { Outbound } from '../../../../../actors/events/outbox/outbound.ts';
import type { OutboundTarget } from '../../../../../actors/events/outbox/outbound-message.ts';
import { anonymous } from '../../../../../actors/identity/principal.ts';
import type { Adapter } from '../../../../../actors/platforms/adapter.ts';
import { manualAdapter } from '../../../../../actors/platforms/manual/adapter.ts';
import { manualEvent } from '../../../../../actors/platforms/manual/event.ts';
import type { Delivery } from '../../../../../actors/store/delivery.ts';
import type { StoredEvent } from '../../../../../actors/store/event.ts';
import type { Trigger } from '../../../../../config/resources/triggers/trigger.ts';
import { manualTrigger } from '../../../../fixtures/automation/triggers.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface SaidRow {
  readonly text: string;
  readonly of: string | undefined;
}

const DRAFT = 'outbox:manual:e/draft/1';
const ANSWER = 'outbox:manual:e/1';
const never = new Promise<never>(() => {});

/** With `records` in the store; `answers` are what the platform says to its edits. */
function bench(
  records: Record<string, Partial<Delivery>> = {},
  answers: (Error | 'hangs')[] = [],
  target: () => OutboundTarget = () => ({ place: 'x' }),
  more: Partial<Outbound<Trigger, SaidRow>> = {},
) {
  const edits: string[] = [];
  const signals: AbortSignal[] = [];
  const emitted: string[] = [];
  const outbound: Outbound<Trigger, SaidRow> = {
    target,
    render: (_, { action, text }) => [{ text, of: action.do === 'edit' ? action.of : undefined }],
    sendsTo: () => 'here',
    editsEveryMs: () => 1_500,
    send: async (_, { text, of }, { receiptOf, signal }) => {
      const before = await receiptOf(String(of));
      edits.push(`${before?.id} ${text}`);
      signals.push(signal);
      const answer = answers.shift();
      if (answer === 'hangs') return never;
      if (answer !== undefined) throw answer;
      return { id: '7' };
    },
    ...more,
  };
  const trigger = manualTrigger('t');
  const run = { command: '', input: {}, text: 'go', isConfirmed: true };
  const made = manualEvent(trigger, run, { id: 'e', trace: '', principal: anonymous });
  const event: StoredEvent = { ...made, seq: 1, at: 0, attempt: 1, crashes: 0 };
  const adapter = { ...manualAdapter, account: () => 'a', outbound } as unknown as Adapter;
  const running = new AbortController();
  const draft = new Draft({
    outbound: outbound as Outbound,
    taken: { adapter, trigger: trigger as Trigger, event, inbound: adapter.read(event) },
    checkpoint: async (state, { emit = [] }: Effects = {}) => {
      expect(state).toBeUndefined();
      for (const row of emit) {
        emitted.push(`${row.id} ${JSON.parse(Buffer.from(row.body).toString()).text}`);
        records[row.id] ??= { state: 'done', receipt: '7' };
      }
    },
    records: { delivery: async (id) => records[id] as never },
    signal: running.signal,
  });
  return { draft, edits, signals, emitted, running };
}

const after = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test('an answer that comes within a moment has none; of the texts of that moment the newest is the first', async () => {
  const quick = bench();
  quick.draft.show('a');
  await after(900);
  expect(await quick.draft.end()).toBe(false);
  await after(5_000);
  expect([quick.emitted, quick.edits, quick.draft.wasBegun]).toEqual([[], [], false]);

  const { draft, emitted, edits } = bench();
  for (const text of ['a', ' ', 'b']) draft.show(text);
  await after(1_000);
  expect(emitted).toEqual([`${DRAFT} b`]);
  for (const text of ['c', 'd']) draft.show(text);
  await after(1_499);
  expect(edits).toEqual([]);
  await after(1);
  expect(edits).toEqual(['7 d']);
  // What stands there already is not sent again.
  draft.show('d');
  await after(5_000);
  expect(edits).toEqual(['7 d']);
  await draft.end();
  draft.show('e');
  await after(5_000);
  expect(edits).toEqual(['7 d']);
});

test('a text that grows by many small pieces costs nothing until it is shown, and one that stays blank is not (DR4)', async () => {
  const { draft, emitted } = bench();
  const before = process.cpuUsage();
  let text = '';
  for (let piece = 0; piece < 20_000; piece += 1) {
    text += ' '.repeat(100);
    draft.show(text);
  }
  const { user, system } = process.cpuUsage(before);
  // A copy of it per piece takes ten seconds and more.
  expect((user + system) / 1e6).toBeLessThan(2);
  await after(5_000);
  expect([emitted, draft.wasBegun]).toEqual([[], false]);
  draft.show(`${text}news`);
  await after(1_000);
  expect(emitted).toEqual([expect.stringMatching(/news$/)]);
});

test('an edit that is too soon waits as long as the platform says, other failures pass, and a final one ends it', async () => {
  const tooSoon = new DeliveryError('429', { isTooSoon: true, retryAfterMs: 7_000 });
  const gone = new DeliveryError('gone', { isFinal: true, isTargetGone: true });
  const { draft, edits } = bench({}, [tooSoon, new Error('cut'), gone]);
  draft.show('a');
  await after(1_000);
  draft.show('b');
  await after(1_500);
  expect(edits).toEqual(['7 b']);
  await after(6_000);
  draft.show('c');
  expect(edits).toHaveLength(1);
  await after(1_000);
  expect(edits).toEqual(['7 b', '7 c']);
  await after(1_500);
  expect(edits).toEqual(['7 b', '7 c', '7 c']);
  draft.show('d');
  await after(60_000);
  expect(edits).toHaveLength(3);
});

test('the end waits for an edit that is under way, but not for one that hangs, and says that it may still come (DR2)', async () => {
  const { draft, edits, signals } = bench({}, ['hangs']);
  draft.show('a');
  await after(1_000);
  draft.show('b');
  await after(1_500);
  expect(edits).toEqual(['7 b']);
  const ended = draft.end();
  await after(4_999);
  expect(signals[0]?.aborted).toBe(false);
  await after(1);
  expect(await ended).toBe(true);
  expect(signals[0]?.aborted).toBe(true);
});

test('where a post replaces as well, the end waits for as long as an edit may take (DR2)', async () => {
  const slow = async () => {
    await new Promise((done) => setTimeout(done, 9_000));
    return { id: '7' };
  };
  const { draft } = bench({}, [], undefined, { isPostInPlace: true, send: slow });
  draft.show('a');
  await after(1_000);
  draft.show('b');
  await after(1_500);
  const ended = draft.end();
  let hasEnded = false;
  ended.then(() => (hasEnded = true));
  await after(8_999);
  expect(hasEnded).toBe(false);
  await after(1);
  expect(await ended).toBe(false);
});

test('an event that has had its answer shows nothing when it is run again, nor does a run that is to end (DR3)', async () => {
  const replayed = bench({ [ANSWER]: { state: 'done' }, [DRAFT]: { state: 'done', receipt: '7' } });
  replayed.draft.show('a');
  await after(10_000);
  expect([replayed.emitted, replayed.edits]).toEqual([[], []]);
  const { draft, emitted, running } = bench();
  draft.show('a');
  running.abort();
  await after(10_000);
  expect(emitted).toEqual([]);
});

test('where the first text never arrived nothing is edited', async () => {
  const { draft, edits, emitted } = bench({ [DRAFT]: { state: 'ignored' } });
  draft.show('a');
  await after(1_000);
  draft.show('b');
  await after(10_000);
  expect([emitted.length, edits]).toEqual([1, []]);
});

test('a fault of the adapter is of no consequence for the run (DR1)', async () => {
  const { draft, emitted } = bench({}, [], () => {
    throw new Error('a fault');
  });
  draft.show('a');
  await after(1_000);
  expect(await draft.end()).toBe(false);
  expect(emitted).toEqual([]);
});
