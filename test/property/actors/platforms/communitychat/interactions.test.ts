// Community chat interactions (commands of users) and their answers, through the platform's adapter and the
// outbox (the sender of stored messages), with the fake platform over real HTTP and simulated time. Random
// steps send commands, create and send answers, plan faults of the platform, and restart or kill the process.
// Finally each part of an answer is visible once and in order, or its record notes a possible duplicate.
// Answers are sent or expired, and requests are made only before the expiry.

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { OutboxWork } from '../../../../../actors/automation/works/outbox-work.ts';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { turnResult } from '../../../../../actors/events/inbox/turn-result.ts';
import { WorkSlots } from '../../../../../actors/events/inbox/work-slots.ts';
import { Circuits } from '../../../../../actors/events/outbox/circuits.ts';
import { outboxRows } from '../../../../../actors/events/outbox/rows.ts';
import { type Adapter, accountOf, type OpenTrigger } from '../../../../../actors/platforms/adapter.ts';
import { communityChatAdapter } from '../../../../../actors/platforms/communitychat/adapter.ts';
import type { Delivery } from '../../../../../actors/store/delivery.ts';
import type { StoredEvent } from '../../../../../actors/store/event.ts';
import type { CommunityChatTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { TestSourceHost } from '../../../../fixtures/automation/source-host.ts';
import { communityChatTrigger } from '../../../../fixtures/automation/triggers.ts';
import { chatError } from '../../../../fixtures/community-platform/chat-error.ts';
import { CommunityPlatform, type Fault } from '../../../../fixtures/community-platform/community-platform.ts';
import { command } from '../../../../fixtures/community-platform/interactions.ts';
import { runs } from '../../../../fixtures/property-runs.ts';

/** Period during which the platform accepts answers to an interaction. */
const EXPIRES_MS = 900_000;
/** Time in which an interaction must be acknowledged. */
const ACKNOWLEDGE_MS = 3_000;
/** Request timeout, in real time. Long enough for other requests on a busy machine. */
const TIMEOUT_MS = 60;
/** Rounds of sending after which a scenario fails. */
const MAX_ROUNDS = 600;
const retry = { attempts: 1_000, min_backoff_seconds: 0.2, max_backoff_seconds: 20, factor: 3 };
/** Notes of records: an attempt may have arrived; the interaction expired. */
const DOUBT = /possible duplicate|may have arrived/;
const EXPIRED = /expired|15 minutes/;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** After faults with known outcomes it is certain that the message did not arrive. */
const knownOutcome = (fault: Fault) => ({ fault, isSure: true });
const unknownOutcome = (fault: Fault) => ({ fault, isSure: false });
/** `isTaken`: the platform posts the message despite the fault. */
const faults = [
  knownOutcome({ kind: 'too many', seconds: 0.4 }),
  knownOutcome({ kind: 'too many', seconds: 30, scope: 'shared' }),
  knownOutcome({ kind: 'too many', seconds: 7, scope: 'global' }),
  knownOutcome({ kind: 'html', status: 429, retryAfter: '9' }),
  knownOutcome({ kind: 'refuse', error: chatError(130_000, { status: 503 }) }),
  unknownOutcome({ kind: 'html', status: 502, isTaken: true }),
  unknownOutcome({ kind: 'html', status: 502, retryAfter: '2', isTaken: true }),
  unknownOutcome({ kind: 'html', status: 500 }),
  unknownOutcome({ kind: 'cut', isTaken: true }),
  unknownOutcome({ kind: 'cut' }),
  unknownOutcome({ kind: 'hang', isTaken: true }),
  unknownOutcome({ kind: 'hang' }),
] as const;

const anyStep = fc.oneof(
  // A person sends a command.
  { weight: 3, arbitrary: fc.record({ do: fc.constant('interact' as const) }) },
  // The gateway creates an answer to the interaction with the index.
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      index: fc.nat({ max: 2 }),
      parts: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('fault' as const),
      fault: fc.constantFrom(...faults),
      isOfPart: fc.boolean(),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('send' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      ms: fc.constantFrom(300, 3_000, 31_000, 870_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('kill' as const) }) },
);
type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;

interface Interaction {
  readonly event: StoredEvent;
  readonly token: string;
  readonly startedAt: number;
  /**
   * Rows in the order of creation, with the first word of each text. `isFirst` is the first part of an
   * answer.
   */
  readonly rows: { readonly id: string; readonly word: string; readonly isFirst: boolean }[];
  answerCount: number;
}

/** The platform, and a process of the gateway with an adapter and an outbox. */
class ChatScenario {
  readonly host = new TestSourceHost();
  readonly platform = new CommunityPlatform();
  readonly interactions: Interaction[] = [];
  /** Longest duration of an acknowledgement, in real milliseconds. */
  slowestMs = 0;
  #adapter: Adapter<CommunityChatTrigger> = communityChatAdapter(adapterServices(this.host));
  #trigger = communityChatTrigger('desk');
  #opened: OpenTrigger | undefined;
  #work: OutboxWork | undefined;
  #startCount = 0;

  async start(): Promise<this> {
    await Promise.all([this.host.start(), this.platform.start()]);
    const { publicKey: public_key, apiRoot: api_root, world } = this.platform;
    const { applicationId: application_id, botToken: bot_token } = world;
    const config = { public_key, api_root, application_id, bot_token, register: 'never' } as const;
    this.#trigger = { ...communityChatTrigger('desk', config), retry };
    await this.restart();
    return this;
  }

  stop(): Promise<unknown> {
    return Promise.all([this.host.stop(), this.platform.stop()]);
  }

  /** Restarts the process, which loses the content of the memory. */
  async restart(): Promise<void> {
    await this.#opened?.close();
    // The path of the previous adapter is released a little later.
    this.#startCount += 1;
    const path = `/in/${this.#startCount}`;
    this.platform.webhookUrl = this.host.url + path;
    this.#trigger = { ...this.#trigger, config: { ...this.#trigger.config, path } };
    this.#adapter = communityChatAdapter(adapterServices(this.host));
    this.#opened = await this.#adapter.open(this.#trigger, this.host);
    const { store } = this.host;
    this.#work = new OutboxWork({
      platform: 'communitychat',
      routing: {
        adapterOf: () => this.#adapter as unknown as Adapter,
        trigger: () => this.#trigger,
        triggers: () => [this.#trigger],
      },
      circuits: new Circuits({ log: silentLog, random: () => 0 }),
      slots: new WorkSlots({ slots: 100, bytes: 1e9, release: (name) => store.release(name) }),
      store,
    });
  }

  async interact(): Promise<void> {
    const realStart = process.hrtime.bigint();
    const startedAt = performance.now();
    const { status, body, token, id } = await this.platform.send({ act: command('ask') });
    this.slowestMs = Math.max(this.slowestMs, Number(process.hrtime.bigint() - realStart) / 1e6);
    // Type 5: the interaction is acknowledged, the answer follows.
    expect([status, body]).toEqual([200, { type: 5 }]);
    // The acknowledged event is already durable.
    const event = this.host.store.events.find((each) => each.id.endsWith(`/${id}`));
    if (event === undefined) throw new Error('acknowledged event is not stored');
    this.interactions.push({ event, token, startedAt, rows: [], answerCount: 0 });
  }

  /** Stores an answer. Each part is about 2,000 characters, the message limit. */
  async answer(index: number, parts: number): Promise<void> {
    const interaction = this.interactions[index];
    if (interaction === undefined || this.#adapter.outbound === undefined) return;
    const answerIndex = interaction.answerCount;
    interaction.answerCount += 1;
    const words = Array.from({ length: parts }, (_, part) => `${index}.${answerIndex}.${part}`);
    const text = words.map((word) => `${word} ${'x '.repeat(990)}`).join('\n\n');
    const inbound = this.#adapter.read(interaction.event);
    const target = this.#adapter.outbound.target(this.#trigger, inbound);
    if (target === undefined) throw new Error('no target for the answer');
    const message = { target, action: { do: 'post' }, text, expiresAt: inbound.answerBy } as const;
    const account = accountOf(this.#adapter, this.#trigger);
    const origin = { eventId: interaction.event.id, trace: '', about: `said${answerIndex}` };
    const rows = outboxRows(this.#adapter.outbound, account, this.#trigger, message, origin);
    expect(rows).toHaveLength(parts);
    await this.host.store.append(rows);
    interaction.rows.push(
      ...rows.map(({ id }, part) => ({ id, word: words[part] as string, isFirst: part === 0 })),
    );
  }

  /**
   * Makes an attempt per due row. If the process is killed meanwhile, the results are lost. Returns the
   * number of attempts.
   */
  async send({ isKilled = false } = {}): Promise<number> {
    const work = this.#work as OutboxWork;
    const { store } = this.host;
    const claims = await store.claim(100, 3_600_000, 'outbox/');
    const results = await Promise.all(
      claims.map(async ({ key, fence, event, snapshot }) => {
        const signal = AbortSignal.timeout(TIMEOUT_MS);
        const outcome = await work.perform({ event, snapshot, signal, checkpoint: async () => {} });
        return turnResult({ key, fence }, event, outcome, 0.5, true, String, Date.now());
      }),
    );
    if (!isKilled) await store.commit(results);
    else {
      store.restart();
      await this.restart();
    }
    return claims.length;
  }

  /** Sends until no row is pending. */
  async sendAll(): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      if ((await this.send()) > 0) continue;
      const rows = await this.host.store.deliveries({ keyPrefix: 'outbox/', limit: 1_000 });
      const waiting = rows.filter(({ endedAt }) => endedAt === undefined);
      if (waiting.length === 0) return;
      const next = Math.min(...waiting.map(({ retryAt }) => retryAt ?? Number.POSITIVE_INFINITY));
      vi.advanceTimersByTime(Number.isFinite(next) ? Math.max(1, next - Date.now()) : 1_000);
    }
    throw new Error('rows are still pending');
  }

  async run(step: Step): Promise<void> {
    if (step.do === 'interact') await this.interact();
    else if (step.do === 'answer') await this.answer(step.index, step.parts);
    else if (step.do === 'fault') void this.#plan(step.fault.fault, step.isOfPart);
    else if (step.do === 'pass') vi.advanceTimersByTime(step.ms);
    else if (step.do === 'restart') await this.restart();
    else await this.send({ isKilled: step.do === 'kill' });
  }

  /** Plans a fault for the next request that shows a message, or for the next follow-up part. */
  #plan(fault: Fault, isOfPart: boolean): Promise<void> {
    return this.platform.faults.plan(fault, ({ channel, method }) =>
      isOfPart ? method === 'POST' : channel !== '',
    );
  }

  async recordOf(id: string): Promise<Delivery> {
    const record = await this.host.store.delivery(id);
    if (record === undefined) throw new Error('the row has no record');
    return record;
  }
}

const firstWord = (content: unknown) => String(content ?? '').split(' ')[0] ?? '';
/** Returns the numbers of the answer and of the part of a first word. */
const positionOf = (word: string) => word.split('.').slice(1).map(Number) as [number, number];
const isSorted = (words: readonly string[]) =>
  words.every((word, i) => {
    const [answer, part] = positionOf(word);
    const [previousAnswer, previousPart] = i === 0 ? [-1, -1] : positionOf(words[i - 1] as string);
    return answer > previousAnswer || (answer === previousAnswer && part >= previousPart);
  });

/** Checks the final messages and records. `isAllSure`: no outcome of an attempt was unknown. */
async function check(scenario: ChatScenario, isAllSure: boolean): Promise<void> {
  const { platform } = scenario;
  expect(scenario.slowestMs).toBeLessThan(ACKNOWLEDGE_MS);
  const visibleWords = platform.world.messages.map(({ body }) => firstWord(body.content));
  for (const [index, { event, rows, token, startedAt }] of scenario.interactions.entries()) {
    const calls = platform.calls.filter(({ path }) => path.includes(token));
    for (const { at } of calls) expect(at - startedAt).toBeLessThanOrEqual(EXPIRES_MS);
    expect(isSorted(calls.map(({ body }) => firstWord((body as { content?: unknown }).content)))).toBe(true);
    const ownWords = visibleWords.filter((word) => word.startsWith(`${index}.`));
    const firstParts = new Set(rows.filter(({ isFirst }) => isFirst).map(({ word }) => word));
    expect(isSorted(ownWords.filter((word) => !firstParts.has(word)))).toBe(true);
    // The first parts of all answers replace each other in a single message.
    expect(ownWords.filter((word) => firstParts.has(word)).length).toBeLessThanOrEqual(1);
    for (const { id, word, isFirst } of rows) {
      const { state, note = '', failures, endedAt = 0 } = await scenario.recordOf(id);
      const count = ownWords.filter((each) => each === word).length;
      const doubts = [note, ...failures.map((each) => each.note)].filter((each) => DOUBT.test(each));
      if (count > 1) expect([word, doubts]).not.toEqual([word, []]);
      if (state === 'done' && !isFirst) {
        expect([word, count]).not.toEqual([word, 0]);
        if (count > 1) expect(note).toMatch(/possible duplicate/);
        if (isAllSure) expect(note).toBe('');
      } else if (state !== 'done') {
        // Only the expiry makes a row dead.
        expect(note).toMatch(EXPIRED);
        expect(endedAt - event.at).toBeGreaterThanOrEqual(EXPIRES_MS);
      }
    }
    // The visible first part is the last sent part, or a later part whose outcome is unknown.
    const sentFirstParts = [];
    for (const row of rows)
      if (row.isFirst && (await scenario.recordOf(row.id)).state === 'done') sentFirstParts.push(row.word);
    const visibleFirstPart = ownWords.find((word) => firstParts.has(word));
    const last = sentFirstParts.at(-1);
    if (last !== undefined) expect(isSorted([last, visibleFirstPart ?? ''])).toBe(true);
  }
}

const failPart = (fault: (typeof faults)[number]) => ({ do: 'fault', fault, isOfPart: true }) as const;
const sendDue = { do: 'send' } as const;
const answerInParts = { do: 'answer', index: 0, parts: 3 } as const;
const passTime = { do: 'pass', ms: 31_000 } as const;
/** Unknown outcomes before the known outcome: the record must still mention them. */
const duplicateCases: readonly (readonly Step[])[] = [
  [
    answerInParts,
    failPart(faults[8]),
    failPart(faults[0]),
    sendDue,
    sendDue,
    passTime,
    sendDue,
    passTime,
    sendDue,
  ],
  [answerInParts, failPart(faults[6]), sendDue, sendDue, passTime, sendDue],
];

const runAndCheck = async (steps: readonly Step[]): Promise<void> => {
  const scenario = await new ChatScenario().start();
  try {
    for (const step of steps) await scenario.run(step);
    await scenario.sendAll();
    const isAllSure = steps.every((step) => {
      if (step.do === 'fault') return step.fault.isSure;
      return step.do !== 'kill' && step.do !== 'restart';
    });
    await check(scenario, isAllSure);
  } finally {
    await scenario.stop();
  }
};

test('each interaction is acknowledged in time; each answer appears once and in order, or its delivery record notes a possible duplicate or an expiry', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 30, size: 'max' }), (steps) =>
      runAndCheck([{ do: 'interact' }, ...steps]),
    ),
    { numRuns: runs(20), examples: duplicateCases.map((each): [Step[]] => [[...each]]) },
  );
});
