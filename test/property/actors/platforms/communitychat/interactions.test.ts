// Community chat interactions and their answers, through the adapter and the outbox, with the fake platform
// over real HTTP: refusals, pauses, server errors, timeouts, cut connections, and kills between any two
// steps. Time is simulated.
//
// Finally each part is visible once, or the record contains a possible duplicate. Parts are in order,
// announced answers are sent or expired, and requests are made only before the expiry.

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

const LASTS_MS = 900_000;
const IN_TIME_MS = 3_000;
/** Request timeout, in real time. Long enough for other requests on a busy machine. */
const SILENCE_MS = 60;
const MAX_STEPS = 600;
const retry = { attempts: 1_000, min_backoff_seconds: 0.2, max_backoff_seconds: 20, factor: 3 };
const DOUBT = /possible duplicate|may have arrived/;
const OVER = /expired|15 minutes/;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const knownOutcome = (fault: Fault) => ({ fault, isSure: true });
const unknownOutcome = (fault: Fault) => ({ fault, isSure: false });
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

const happening = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('ask' as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('say' as const),
      nth: fc.nat({ max: 2 }),
      parts: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('fault' as const),
      which: fc.constantFrom(...faults),
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
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rebuild' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('kill' as const) }) },
);
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

interface Interaction {
  readonly event: StoredEvent;
  readonly token: string;
  readonly startedAt: number;
  /** Ids of rows and the first word of each, in the order of creation. */
  readonly rows: { readonly id: string; readonly word: string; readonly isFirst: boolean }[];
  answers: number;
}

class World {
  readonly host = new TestSourceHost();
  readonly platform = new CommunityPlatform();
  readonly interactions: Interaction[] = [];
  /** Longest duration of an acknowledgement, in real milliseconds. */
  slowest = 0;
  #adapter: Adapter<CommunityChatTrigger> = communityChatAdapter(adapterServices(this.host));
  #trigger = communityChatTrigger('desk');
  #opened: OpenTrigger | undefined;
  #work: OutboxWork | undefined;
  #builds = 0;

  async start(): Promise<this> {
    await Promise.all([this.host.start(), this.platform.start()]);
    const { publicKey: public_key, apiRoot: api_root, world } = this.platform;
    const { applicationId: application_id, botToken: bot_token } = world;
    const config = { public_key, api_root, application_id, bot_token, register: 'never' } as const;
    this.#trigger = { ...communityChatTrigger('desk', config), retry };
    await this.build();
    return this;
  }

  stop(): Promise<unknown> {
    return Promise.all([this.host.stop(), this.platform.stop()]);
  }

  /** Restarts the process, which loses the content of the memory. */
  async build(): Promise<void> {
    await this.#opened?.close();
    // The path of the previous adapter is released a little later.
    const path = `/in/${++this.#builds}`;
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
    this.slowest = Math.max(this.slowest, Number(process.hrtime.bigint() - realStart) / 1e6);
    expect([status, body]).toEqual([200, { type: 5 }]);
    // The acknowledged event is already durable.
    const event = this.host.store.events.find((each) => each.id.endsWith(`/${id}`));
    if (event === undefined) throw new Error('acknowledged event is not stored');
    this.interactions.push({ event, token, startedAt, rows: [], answers: 0 });
  }

  async answer(nth: number, parts: number): Promise<void> {
    const interaction = this.interactions[nth];
    if (interaction === undefined || this.#adapter.outbound === undefined) return;
    const answerCount = interaction.answers++;
    const words = Array.from({ length: parts }, (_, part) => `${nth}.${answerCount}.${part}`);
    const text = words.map((word) => `${word} ${'x '.repeat(990)}`).join('\n\n');
    const inbound = this.#adapter.read(interaction.event);
    const target = this.#adapter.outbound.target(this.#trigger, inbound);
    if (target === undefined) throw new Error('no target for the answer');
    const message = { target, action: { do: 'post' }, text, expiresAt: inbound.answerBy } as const;
    const account = accountOf(this.#adapter, this.#trigger);
    const origin = { eventId: interaction.event.id, trace: '', about: `said${answerCount}` };
    const rows = outboxRows(this.#adapter.outbound, account, this.#trigger, message, origin);
    expect(rows).toHaveLength(parts);
    await this.host.store.append(rows);
    interaction.rows.push(
      ...rows.map(({ id }, part) => ({ id, word: words[part] as string, isFirst: part === 0 })),
    );
  }

  /**
   * Makes an attempt for each due row. If the process is killed meanwhile, the results are lost. Returns the
   * number of attempts.
   */
  async send({ isKilled = false } = {}): Promise<number> {
    const work = this.#work as OutboxWork;
    const { store } = this.host;
    const claims = await store.claim(100, 3_600_000, 'outbox/');
    const results = await Promise.all(
      claims.map(async ({ key, fence, event, snapshot }) => {
        const signal = AbortSignal.timeout(SILENCE_MS);
        const outcome = await work.perform({ event, snapshot, signal, checkpoint: async () => {} });
        return turnResult({ key, fence }, event, outcome, 0.5, true, String);
      }),
    );
    if (!isKilled) await store.commit(results);
    else {
      store.restart();
      await this.build();
    }
    return claims.length;
  }

  /** Sends until no row is pending. */
  async end(): Promise<void> {
    for (let step = 0; step < MAX_STEPS; step += 1) {
      if ((await this.send()) > 0) continue;
      const rows = await this.host.store.deliveries({ keyPrefix: 'outbox/', limit: 1_000 });
      const waiting = rows.filter(({ endedAt }) => endedAt === undefined);
      if (waiting.length === 0) return;
      const next = Math.min(...waiting.map(({ retryAt }) => retryAt ?? Number.POSITIVE_INFINITY));
      vi.advanceTimersByTime(Number.isFinite(next) ? Math.max(1, next - Date.now()) : 1_000);
    }
    throw new Error('rows are still pending');
  }

  async apply(each: Happening): Promise<void> {
    if (each.do === 'ask') await this.interact();
    else if (each.do === 'say') await this.answer(each.nth, each.parts);
    else if (each.do === 'fault') void this.#plan(each.which.fault, each.isOfPart);
    else if (each.do === 'pass') vi.advanceTimersByTime(each.ms);
    else if (each.do === 'rebuild') await this.build();
    else await this.send({ isKilled: each.do === 'kill' });
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
const order = (word: string) => word.split('.').slice(1).map(Number) as [number, number];
const isSorted = (words: readonly string[]) =>
  words.every((word, i) => {
    const [said, part] = order(word);
    const [before, partBefore] = i === 0 ? [-1, -1] : order(words[i - 1] as string);
    return said > before || (said === before && part >= partBefore);
  });

async function check(world: World, isAllSure: boolean): Promise<void> {
  const { platform } = world;
  expect(world.slowest).toBeLessThan(IN_TIME_MS);
  const seen = platform.world.messages.map(({ body }) => firstWord(body.content));
  for (const [nth, { rows, token, startedAt }] of world.interactions.entries()) {
    const calls = platform.calls.filter(({ path }) => path.includes(token));
    for (const { at } of calls) expect(at - startedAt).toBeLessThanOrEqual(LASTS_MS);
    expect(isSorted(calls.map(({ body }) => firstWord((body as { content?: unknown }).content)))).toBe(true);
    const own = seen.filter((word) => word.startsWith(`${nth}.`));
    const firsts = new Set(rows.filter(({ isFirst }) => isFirst).map(({ word }) => word));
    expect(isSorted(own.filter((word) => !firsts.has(word)))).toBe(true);
    // The first answer is a single message.
    expect(own.filter((word) => firsts.has(word)).length).toBeLessThanOrEqual(1);
    for (const { id, word, isFirst } of rows) {
      const { state, note = '', failures, endedAt = 0 } = await world.recordOf(id);
      const count = own.filter((each) => each === word).length;
      const doubts = [note, ...failures.map((each) => each.note)].filter((each) => DOUBT.test(each));
      if (count > 1) expect([word, doubts]).not.toEqual([word, []]);
      if (state === 'done' && !isFirst) {
        expect([word, count]).not.toEqual([word, 0]);
        if (count > 1) expect(note).toMatch(/possible duplicate/);
        if (isAllSure) expect(note).toBe('');
      } else if (state !== 'done') {
        // Only the expiry makes a row dead.
        expect(note).toMatch(OVER);
        expect(endedAt - world.interactions[nth]!.event.at).toBeGreaterThanOrEqual(LASTS_MS);
      }
    }
    const done = [];
    for (const row of rows)
      if (row.isFirst && (await world.recordOf(row.id)).state === 'done') done.push(row.word);
    const shownFirst = own.find((word) => firsts.has(word));
    const last = done.at(-1);
    if (last !== undefined) expect(isSorted([last, shownFirst ?? ''])).toBe(true);
  }
}

const failsPart = (which: (typeof faults)[number]) => ({ do: 'fault', which, isOfPart: true }) as const;
const sendDue = { do: 'send' } as const;
const answers = { do: 'say', nth: 0, parts: 3 } as const;
const passTime = { do: 'pass', ms: 31_000 } as const;
/** Unknown outcomes before a known outcome: the record must still mention them. */
const duplicateCases: readonly (readonly Happening[])[] = [
  [
    answers,
    failsPart(faults[8]),
    failsPart(faults[0]),
    sendDue,
    sendDue,
    passTime,
    sendDue,
    passTime,
    sendDue,
  ],
  [answers, failsPart(faults[6]), sendDue, sendDue, passTime, sendDue],
];

const runAndCheck = async (happenings: readonly Happening[]): Promise<void> => {
  const world = await new World().start();
  try {
    for (const each of happenings) await world.apply(each);
    await world.end();
    const isAllSure = happenings.every(
      (each) => each.do !== 'kill' && each.do !== 'rebuild' && !(each.do === 'fault' && !each.which.isSure),
    );
    await check(world, isAllSure);
  } finally {
    await world.stop();
  }
};

test('each interaction is acknowledged in time; its answers appear once and in order, or the record contains the possible duplicate or the expiry', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { minLength: 5, maxLength: 30, size: 'max' }), (happenings) =>
      runAndCheck([{ do: 'ask' }, ...happenings]),
    ),
    { numRuns: runs(20), examples: duplicateCases.map((each): [Happening[]] => [[...each]]) },
  );
});
