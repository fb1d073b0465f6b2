// Answers under way, at the hands of the dispatcher, with a platform that fails, puts off and loses, and ends of the process
// between any two steps: whoever looks at the chat in the end sees one answer, or that there is none, and no draft as the last
// word; and edits were never closer together than the platform has them.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Handler } from '../../../actors/agents/handlers/handler.ts';
import { HandlerError } from '../../../actors/agents/handlers/handler.ts';
import { ConversationWork } from '../../../actors/automation/conversations/conversation-work.ts';
import { OutboxWork } from '../../../actors/automation/works/outbox-work.ts';
import { UnavailableError } from '../../../actors/base/errors/errors.ts';
import { silentLog } from '../../../actors/base/errors/log.ts';
import { WorkPlaces } from '../../../actors/events/inbox/work-places.ts';
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

const quick = { tickMs: 4, pollMs: 8, leaseMs: 10_000, renewMs: 20, lingerMs: 10, patienceMs: 10 };
const retry = { attempts: 100, min_backoff_seconds: 0.001, max_backoff_seconds: 0.004, factor: 2 };
const EVERY_MS = 8;
/** Timers of Node may come a little before their time. */
const EARLY_MS = 2;
/** No less, so that what a run begins with is not too soon after the last edit of the one before. */
const AFTER_MS = 8;

const steps = ['say', 'say', 'say', 'say', 'say', 'progress', 'pause', 'keep', 'fail', 'too soon'] as const;
const ends = ['answer', 'answer', 'long answer', 'nothing', 'give up'] as const;
const faults = ['ok', 'ok', 'ok', 'ok', 'too soon', 'fault', 'refused', 'lost', 'gone'] as const;
const happenings = ['kill', 'drain', 'nothing', 'nothing'] as const;
type Step = (typeof steps)[number];
type End = (typeof ends)[number];
type Fault = (typeof faults)[number];

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

interface SaidRow {
  readonly text: string;
  readonly of: string | undefined;
}

interface Shown {
  readonly row: string;
  text: string;
}

/** A chat whose messages bear the ids of their rows, so that a second attempt finds what the first one wrote. */
class Platform {
  readonly shown = new Map<string, Shown>();
  readonly tooQuick: number[] = [];
  readonly faults: Fault[];
  /** Drafts of which nobody was told that they had arrived. */
  readonly orphans = new Set<string>();
  isKilled = false;
  #lastEdit = new Map<string, number>();

  constructor(planned: readonly Fault[]) {
    this.faults = [...planned];
  }

  readonly outbound: Outbound<Trigger, SaidRow> = {
    target: () => ({ place: 'x' }),
    render: (_, { action, text }) =>
      text.split('|').map((part, i) => ({
        text: part,
        of: action.do === 'edit' && i === 0 ? action.of : undefined,
      })),
    sendsTo: () => 'here',
    editsEveryMs: () => EVERY_MS,
    send: async (_, { of, text }, { rowId, receiptOf, signal }) => {
      const before = of === undefined ? undefined : await receiptOf(String(of));
      // What comes from here while the run lasts, unlike rows of the outbox, has the id of the draft.
      const isDraft = rowId.endsWith('/draft/1');
      if (before !== undefined && isDraft) this.#meter(before.id);
      await pause(isDraft ? 12 : 1);
      if (signal.aborted) throw new DeliveryError('given up', { isOutcomeUnknown: true });
      const fault = this.faults.shift() ?? 'ok';
      if (fault === 'too soon') throw new DeliveryError('429', { isTooSoon: true, retryAfterMs: 12 });
      if (fault === 'fault') throw new DeliveryError('500');
      if (fault === 'refused' && isDraft) throw new DeliveryError('403', { isFinal: true });
      if (fault === 'gone' && before !== undefined) this.shown.delete(before.id);
      const id = before?.id ?? `message of ${rowId}`;
      if (before !== undefined && !this.shown.has(id))
        throw new DeliveryError('gone', { isFinal: true, isTargetGone: true });
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

  #meter(id: string): void {
    const now = performance.now();
    const last = this.#lastEdit.get(id);
    if (last !== undefined && now - last < EVERY_MS - EARLY_MS) this.tooQuick.push(now - last);
    this.#lastEdit.set(id, now);
  }
}

/** Each step of failure fails once; an attempt begins from the first step. */
function handlerOf(script: readonly Step[], end: End): Handler {
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
          throw new HandlerError(step, { isTooSoon: step === 'too soon', retryAfterMs: 2 });
        }
      }
      if (end === 'give up') throw new HandlerError('for good', { isFinal: true });
      return { text: { answer: 'the answer', 'long answer': 'the answer|and more', nothing: '' }[end] };
    },
  };
}

const arbPlan = fc.record({
  script: fc.array(fc.constantFrom(...steps), { maxLength: 12, size: 'max' }),
  end: fc.constantFrom(...ends),
  isSilent: fc.boolean(),
  faults: fc.array(fc.constantFrom(...faults), { maxLength: 10, size: 'max' }),
  happens: fc.array(fc.tuple(fc.constantFrom(...happenings), fc.integer({ min: 0, max: 25 })), {
    maxLength: 3,
  }),
});

type Plan = typeof arbPlan extends fc.Arbitrary<infer P> ? P : never;

async function tryPlan(plan: Plan): Promise<void> {
  const { script, end, isSilent, happens } = plan;
  const trigger = {
    ...manualTrigger('t'),
    retry,
    on_failure: isSilent ? 'silent' : 'reply',
  } as ReturnType<typeof manualTrigger>;
  const platform = new Platform(plan.faults);
  const adapter = { ...manualAdapter, account: () => 'a', outbound: platform.outbound } as unknown as Adapter;
  const handler = handlerOf(script, end);
  const store = new MemoryStore();
  let isFailing = false;
  const commit = store.commit.bind(store);
  store.commit = async (results: readonly TurnResult[]) => {
    if (!isFailing) return commit(results);
    // What had arrived just before the end is known to nobody either.
    for (const { receipt } of results) if (receipt !== undefined) platform.orphans.add(receipt);
    throw new UnavailableError('killed', 1);
  };
  const begin = () => {
    const places = () => new WorkPlaces({ places: 8, bytes: 1_000_000, release: async () => 0 });
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
      new ConversationWork(routing, places(), store, AFTER_MS),
      new OutboxWork({ platform: 'manual', routing, places: places(), store, circuits }),
    ];
    return startInbox({ works, places: 4, store, ...quick }).dispatcher;
  };
  let dispatcher = begin();
  const run = { command: '', input: {}, text: 'go', isConfirmed: true };
  const event = manualEvent(trigger, run, { id: 'e', trace: '', principal: anonymous });
  await store.append([event]);
  for (const [what, ms] of happens) {
    await pause(ms);
    if (what === 'nothing') continue;
    isFailing = platform.isKilled = what === 'kill';
    await dispatcher.drain(what === 'kill' ? 20 : 300);
    if (what === 'kill') store.restart();
    isFailing = platform.isKilled = false;
    dispatcher = begin();
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
  await check(plan, platform, store);
  await store.close();
}

async function check({ end, isSilent, script }: Plan, platform: Platform, store: MemoryStore): Promise<void> {
  expect(platform.tooQuick).toEqual([]);
  const drafts = [...platform.shown].filter(([, { text }]) => text.startsWith('draft'));
  // A draft that nobody knows to be there cannot be changed; what was posted after it is the last word.
  for (const [id] of drafts) expect(platform.orphans).toContain(id);
  const words = [...platform.shown.values()]
    .map(({ text }) => text)
    .filter((text) => !text.startsWith('draft'));
  const wasShown = script.some((step) => step === 'progress' || step === 'say');
  if (end === 'answer') expect(words).toEqual(['the answer']);
  if (end === 'long answer') expect(words.toSorted()).toEqual(['and more', 'the answer']);
  if (end === 'give up') {
    const isTold = words.length === 1 && words[0]?.startsWith('Sorry') === true;
    expect(isTold || (isSilent && words.length === 0)).toBe(true);
  }
  if (end === 'nothing') expect(words).toEqual(words.length === 0 || !wasShown ? [] : ['Done.']);
  expect(await store.delivery('manual:e')).toMatchObject({ state: end === 'give up' ? 'dead' : 'done' });
  for (const { id, state } of await store.deliveries({ keyPrefix: 'outbox/', limit: 100 }))
    expect([id, ['done', 'ignored'].includes(state)]).toEqual([id, true]);
}

test('in the end there is one answer, or word that there is none, and no draft is the last word (DR1, SND4)', async () => {
  await fc.assert(fc.asyncProperty(arbPlan, tryPlan), {
    numRuns: 25,
    // Found once: the end came between the arrival of a draft and word of it.
    examples: [
      [
        {
          script: ['say'],
          end: 'answer',
          isSilent: false,
          faults: [],
          happens: [
            ['nothing', 8],
            ['kill', 15],
          ],
        },
      ],
    ],
  });
});
