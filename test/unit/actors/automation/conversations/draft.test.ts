// Preview messages, which show an answer during generation: edit rates, failures, and answers without
// preview.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Draft } from '../../../../../actors/automation/conversations/draft.ts';
import type { Effects } from '../../../../../actors/events/inbox/work.ts';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import type { OutboundTarget } from '../../../../../actors/events/outbox/message.ts';
import type { Outbound } from '../../../../../actors/events/outbox/outbound.ts';
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
const hangingPromise = new Promise<never>(() => {});

/** `records` are stored drafts; `answers` are the platform's responses to edits. */
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
    addressOf: () => 'here',
    editIntervalMs: () => 1_500,
    send: async (_, { text, of }, { receiptOf, signal }) => {
      const before = await receiptOf(String(of));
      edits.push(`${before?.id} ${text}`);
      signals.push(signal);
      const answer = answers.shift();
      if (answer === 'hangs') return hangingPromise;
      if (answer !== undefined) throw answer;
      return { id: '7' };
    },
    ...more,
  };
  const trigger = manualTrigger('t');
  const run = { command: '', input: {}, text: 'go', isConfirmed: true };
  const manual = manualEvent(trigger, run, { id: 'e', trace: '', principal: anonymous });
  const event: StoredEvent = { ...manual, seq: 1, at: 0, attempt: 1, crashes: 0 };
  const adapter = { ...manualAdapter, account: () => 'a', outbound } as unknown as Adapter;
  const running = new AbortController();
  const draft = new Draft({
    outbound: outbound as Outbound,
    routedEvent: { adapter, trigger: trigger as Trigger, event, inbound: adapter.read(event) },
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

test('a fast answer has no draft; the first draft shows the newest text of the first second', async () => {
  const quick = bench();
  quick.draft.show('a');
  await after(900);
  expect(await quick.draft.end()).toBe(false);
  await after(5_000);
  expect([quick.emitted, quick.edits, quick.draft.hasMessage]).toEqual([[], [], false]);

  const { draft, emitted, edits } = bench();
  for (const text of ['a', ' ', 'b']) draft.show(text);
  await after(1_000);
  expect(emitted).toEqual([`${DRAFT} b`]);
  for (const text of ['c', 'd']) draft.show(text);
  await after(1_499);
  expect(edits).toEqual([]);
  await after(1);
  expect(edits).toEqual(['7 d']);
  // An unchanged text is not sent.
  draft.show('d');
  await after(5_000);
  expect(edits).toEqual(['7 d']);
  await draft.end();
  draft.show('e');
  await after(5_000);
  expect(edits).toEqual(['7 d']);
});

test('a draft does not copy its text for each small piece, and does not show blank text', async () => {
  const { draft, emitted } = bench();
  const before = process.cpuUsage();
  let text = '';
  for (let piece = 0; piece < 20_000; piece += 1) {
    text += ' '.repeat(100);
    draft.show(text);
  }
  const { user, system } = process.cpuUsage(before);
  // Copying the text per piece exceeds ten seconds.
  expect((user + system) / 1e6).toBeLessThan(2);
  await after(5_000);
  expect([emitted, draft.hasMessage]).toEqual([[], false]);
  draft.show(`${text}news`);
  await after(1_000);
  expect(emitted).toEqual([expect.stringMatching(/news$/)]);
});

test('a rate-limited edit of a draft waits as requested, other failures are ignored, a final failure ends the draft', async () => {
  const tooSoon = new DeliveryError('429', { isRateLimited: true, retryAfterMs: 7_000 });
  const missingTarget = new DeliveryError('gone', { isFinal: true, isTargetMissing: true });
  const { draft, edits } = bench({}, [tooSoon, new Error('cut'), missingTarget]);
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

test('the end of a draft waits for a pending edit, aborts a hanging edit, and reports that it may still arrive', async () => {
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

test('the end of a draft waits longer for a pending edit if a new message will replace the draft', async () => {
  const slow = async () => {
    await new Promise((resolve) => setTimeout(resolve, 9_000));
    return { id: '7' };
  };
  const { draft } = bench({}, [], undefined, { replacesPreview: true, send: slow });
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

test('no draft message is sent for a replayed event that already has an answer, or for an aborted run', async () => {
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

test('a draft is not edited if its first message was never delivered', async () => {
  const { draft, edits, emitted } = bench({ [DRAFT]: { state: 'ignored' } });
  draft.show('a');
  await after(1_000);
  draft.show('b');
  await after(10_000);
  expect([emitted.length, edits]).toEqual([1, []]);
});

test('an adapter error in a draft does not affect the run', async () => {
  const { draft, emitted } = bench({}, [], () => {
    throw new Error('a fault');
  });
  draft.show('a');
  await after(1_000);
  expect(await draft.end()).toBe(false);
  expect(emitted).toEqual([]);
});
