// Drafts of answers (messages that show a growing answer), with a platform that fails, delays and loses
// messages, and with crashes between any two steps. Finally the chat contains one answer or a failure notice,
// and the last message is no draft. Edits respect the interval of the platform.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Handler } from '../../../actors/agents/handlers/handler.ts';
import { HandlerError } from '../../../actors/agents/handlers/handler.ts';
import { ConversationWork } from '../../../actors/automation/conversations/work.ts';
import { OutboxWork } from '../../../actors/automation/works/outbox-work.ts';
import { UnavailableError } from '../../../actors/base/errors/errors.ts';
import { silentLog } from '../../../actors/base/errors/log.ts';
import { WorkSlots } from '../../../actors/events/inbox/work-slots.ts';
import { Circuits } from '../../../actors/events/outbox/circuits.ts';
import { DeliveryError } from '../../../actors/events/outbox/delivery-error.ts';
import type { Outbound } from '../../../actors/events/outbox/outbound.ts';
import { anonymous } from '../../../actors/identity/principal.ts';
import type { Adapter } from '../../../actors/platforms/adapter.ts';
import { manualAdapter } from '../../../actors/platforms/manual/adapter.ts';
import { manualEvent } from '../../../actors/platforms/manual/event.ts';
import type { TurnResult } from '../../../actors/store/store.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { noServices } from '../../fixtures/automation/contexts.ts';
import { startInbox, until } from '../../fixtures/automation/inbox.ts';
import { manualTrigger } from '../../fixtures/automation/triggers.ts';
import { MemoryStore } from '../../fixtures/store/memory-store.ts';

/** Short intervals of the dispatcher, which claims and runs events, so that test runs take milliseconds. */
const quickDispatcher = { tickMs: 4, pollMs: 8, leaseMs: 10_000, renewMs: 20, lingerMs: 10, patienceMs: 10 };
const retry = { attempts: 100, min_backoff_seconds: 0.001, max_backoff_seconds: 0.004, factor: 2 };
/** Minimum interval between two draft edits at the platform. */
const EDIT_INTERVAL_MS = 8;
/** Timers of Node may fire slightly early. */
const TIMER_TOLERANCE_MS = 2;
/** Long enough that the first edit of a run respects the interval since the last edit of the previous run. */
const FIRST_DRAFT_DELAY_MS = 8;

/**
 * Run steps: `say` updates the draft and pauses, `progress` updates it, `keep` stores a checkpoint (a state).
 * `fail` and `too soon` (rate limit) fail once.
 */
const steps = ['say', 'say', 'say', 'say', 'say', 'progress', 'pause', 'keep', 'fail', 'too soon'] as const;
/** Final run answer. A long answer consists of two messages. `give up` is a final failure. */
const runEnds = ['answer', 'answer', 'long answer', 'nothing', 'give up'] as const;
/**
 * Results of requests to the platform. `lost` sends the message without a response, `gone` removes the edited
 * message before the edit. The faults are shared by drafts and answers.
 */
const faults = ['ok', 'ok', 'ok', 'ok', 'too soon', 'fault', 'refused', 'lost', 'gone'] as const;
/** Ends of the process, which then restarts. */
const interruptions = ['kill', 'drain', 'nothing', 'nothing'] as const;
type Step = (typeof steps)[number];
type RunEnd = (typeof runEnds)[number];
type Fault = (typeof faults)[number];

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

interface SentRow {
  readonly text: string;
  /** Row of the message that this row edits. */
  readonly of: string | undefined;
}

interface ShownMessage {
  readonly row: string;
  text: string;
}

/**
 * A chat whose messages contain the ids of their rows, so that a second attempt finds the message of the
 * first attempt.
 */
class Platform {
  readonly shown = new Map<string, ShownMessage>();
  /** Intervals in milliseconds between edits that followed each other too quickly. */
  readonly tooQuick: number[] = [];
  /** Results of the next requests. */
  readonly faults: Fault[];
  /** Drafts whose arrival was never acknowledged. The gateway cannot edit them. */
  readonly orphans = new Set<string>();
  isKilled = false;
  #lastEdit = new Map<string, number>();

  constructor(scriptedFaults: readonly Fault[]) {
    this.faults = [...scriptedFaults];
  }

  readonly outbound: Outbound<Trigger, SentRow> = {
    target: () => ({ place: 'x' }),
    // `|` separates the messages in `text`. An edit concerns the first one.
    render: (_, { action, text }) =>
      text.split('|').map((part, i) => ({
        text: part,
        of: action.do === 'edit' && i === 0 ? action.of : undefined,
      })),
    addressOf: () => 'here',
    editIntervalMs: () => EDIT_INTERVAL_MS,
    send: async (_, { of, text }, { rowId, receiptOf, signal }) => {
      const before = of === undefined ? undefined : await receiptOf(String(of));
      // A draft's row id has this suffix. Other messages have other row ids.
      const isDraft = rowId.endsWith('/draft/1');
      if (before !== undefined && isDraft) this.#checkEditInterval(before.id);
      // A draft takes longer, so that later steps and kills occur while it is sent.
      await pause(isDraft ? 12 : 1);
      if (signal.aborted) throw new DeliveryError('given up', { isOutcomeUnknown: true });
      const fault = this.faults.shift() ?? 'ok';
      if (fault === 'too soon') throw new DeliveryError('429', { isRateLimited: true, retryAfterMs: 12 });
      if (fault === 'fault') throw new DeliveryError('500');
      if (fault === 'refused' && isDraft) throw new DeliveryError('403', { isFinal: true });
      if (fault === 'gone' && before !== undefined) this.shown.delete(before.id);
      const id = before?.id ?? `message of ${rowId}`;
      if (before !== undefined && !this.shown.has(id))
        throw new DeliveryError('gone', { isFinal: true, isTargetMissing: true });
      const isNew = !this.shown.has(id);
      this.shown.set(id, { row: rowId, text: String(text) });
      if (fault === 'lost') {
        if (isNew && isDraft) this.orphans.add(id);
        throw new DeliveryError('the answer was lost', { isOutcomeUnknown: true });
      }
      if (this.isKilled && isNew && isDraft) this.orphans.add(id);
      return { id };
    },
  };

  #checkEditInterval(id: string): void {
    const now = performance.now();
    const last = this.#lastEdit.get(id);
    if (last !== undefined && now - last < EDIT_INTERVAL_MS - TIMER_TOLERANCE_MS)
      this.tooQuick.push(now - last);
    this.#lastEdit.set(id, now);
  }
}

/** A failing step fails once. An attempt starts at the first step. */
function handlerOf(script: readonly Step[], end: RunEnd): Handler {
  const failed = new Set<number>();
  return {
    run: async (_job, context) => {
      for (const [i, step] of script.entries()) {
        if (context.signal.aborted) throw new HandlerError('given up');
        if (step === 'progress' || step === 'say') context.progress(`draft ${i}`);
        if (step === 'progress') continue;
        if (step === 'pause' || step === 'say') await pause(7);
        else if (step === 'keep') await context.checkpoint(`kept ${i}`);
        else if (!failed.has(i)) {
          failed.add(i);
          throw new HandlerError(step, { isRateLimited: step === 'too soon', retryAfterMs: 2 });
        }
      }
      if (end === 'give up') throw new HandlerError('for good', { isFinal: true });
      return { text: { answer: 'the answer', 'long answer': 'the answer|and more', nothing: '' }[end] };
    },
  };
}

const arbScenario = fc.record({
  script: fc.array(fc.constantFrom(...steps), { maxLength: 12, size: 'max' }),
  end: fc.constantFrom(...runEnds),
  /** True if the trigger sends no failure notice. */
  isSilent: fc.boolean(),
  faults: fc.array(fc.constantFrom(...faults), { maxLength: 10, size: 'max' }),
  happenings: fc.array(fc.tuple(fc.constantFrom(...interruptions), fc.integer({ min: 0, max: 25 })), {
    maxLength: 3,
  }),
});

type Scenario = typeof arbScenario extends fc.Arbitrary<infer P> ? P : never;

async function checkScenario(scenario: Scenario): Promise<void> {
  const { script, end, isSilent, happenings } = scenario;
  const trigger = {
    ...manualTrigger('t'),
    retry,
    on_failure: isSilent ? 'silent' : 'reply',
  } as ReturnType<typeof manualTrigger>;
  const platform = new Platform(scenario.faults);
  const adapter = { ...manualAdapter, account: () => 'a', outbound: platform.outbound } as unknown as Adapter;
  const handler = handlerOf(script, end);
  const store = new MemoryStore();
  /** True during a kill: the store accepts no commit. */
  let isFailing = false;
  const commit = store.commit.bind(store);
  store.commit = async (results: readonly TurnResult[]) => {
    if (!isFailing) return commit(results);
    // It is also unknown whether a message just before the kill arrived.
    for (const { receipt } of results) if (receipt !== undefined) platform.orphans.add(receipt);
    throw new UnavailableError('killed', 1);
  };
  const startDispatcher = () => {
    const newSlots = () => new WorkSlots({ slots: 8, bytes: 1_000_000, release: async () => 0 });
    const routing = {
      adapterOf: () => adapter,
      trigger: () => trigger,
      triggers: () => [],
      isPaused: () => false,
      onHeld: () => {},
      discard: async () => false,
      handlerOf: () => handler,
      loaded: () => ({ agents: [], fleets: [], flows: [] }),
      attemptSecondsOf: () => undefined,
      stop: async () => false,
      services: noServices,
      count: () => {},
      longestTimeoutMs: 60_000,
    };
    const circuits = new Circuits({ log: silentLog });
    const works = [
      new ConversationWork(routing, newSlots(), store, FIRST_DRAFT_DELAY_MS),
      new OutboxWork({ platform: 'manual', routing, slots: newSlots(), store, circuits }),
    ];
    return startInbox({ works, places: 4, store, ...quickDispatcher }).dispatcher;
  };
  let dispatcher = startDispatcher();
  const run = { command: '', input: {}, text: 'go', isConfirmed: true };
  const event = manualEvent(trigger, run, { id: 'e', trace: '', principal: anonymous });
  await store.append([event]);
  for (const [happening, ms] of happenings) {
    await pause(ms);
    if (happening === 'nothing') continue;
    isFailing = happening === 'kill';
    platform.isKilled = isFailing;
    await dispatcher.drain(happening === 'kill' ? 20 : 300);
    if (happening === 'kill') store.restart();
    isFailing = false;
    platform.isKilled = false;
    dispatcher = startDispatcher();
  }
  await until(
    'all has ended',
    async () => {
      const { queued, running, retrying, held, waiting } = await store.counts();
      return queued + running + retrying + held + waiting === 0;
    },
    20_000,
  );
  await dispatcher.drain(300);
  await checkChat(scenario, platform, store);
  await store.close();
}

async function checkChat(
  { end, isSilent, script }: Scenario,
  platform: Platform,
  store: MemoryStore,
): Promise<void> {
  expect(platform.tooQuick).toEqual([]);
  const drafts = [...platform.shown].filter(([, { text }]) => text.startsWith('draft'));
  // Only a draft whose arrival was never acknowledged remains: the gateway cannot edit it.
  for (const [id] of drafts) expect(platform.orphans).toContain(id);
  const finalTexts = [...platform.shown.values()]
    .map(({ text }) => text)
    .filter((text) => !text.startsWith('draft'));
  const hasDrafts = script.some((step) => step === 'progress' || step === 'say');
  if (end === 'answer') expect(finalTexts).toEqual(['the answer']);
  if (end === 'long answer') expect(finalTexts.toSorted()).toEqual(['and more', 'the answer']);
  if (end === 'give up') {
    const hasFailureNotice = finalTexts.length === 1 && finalTexts[0]?.startsWith('Sorry') === true;
    expect(hasFailureNotice || (isSilent && finalTexts.length === 0)).toBe(true);
  }
  // An empty answer replaces a shown draft by `Done.`. Without a shown draft it sends nothing.
  if (end === 'nothing' && hasDrafts) expect([[], ['Done.']]).toContainEqual(finalTexts);
  if (end === 'nothing' && !hasDrafts) expect(finalTexts).toEqual([]);
  expect(await store.delivery('manual:e')).toMatchObject({ state: end === 'give up' ? 'dead' : 'done' });
  for (const { id, state } of await store.deliveries({ keyPrefix: 'outbox/', limit: 100 }))
    expect([id, ['done', 'ignored'].includes(state)]).toEqual([id, true]);
}

test('a chat answer shown as a draft ends as one final answer or failure notice, never as a draft, despite kills', async () => {
  await fc.assert(fc.asyncProperty(arbScenario, checkScenario), {
    numRuns: 25,
    // Regression: the kill came between the arrival of a draft and its acknowledgement.
    examples: [
      [
        {
          script: ['say'],
          end: 'answer',
          isSilent: false,
          faults: [],
          happenings: [
            ['nothing', 8],
            ['kill', 15],
          ],
        },
      ],
    ],
  });
});
