// Interactions of a community chat, and what is said of them, at the hands of the adapter and the outbox, against the fake of the
// platform over real HTTP: refusals, pauses, faults of its own, silence, connections cut after a request was taken, and ends of the
// process between any two steps. Time is the test's own.
//
// Whoever looks at the chat in the end sees each part once, or its record tells of the doubt; parts stand in their order; what
// was announced is answered, or its time is over; and nobody is asked anything after that time.

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { OutboxWork } from '../../../../../actors/automation/works/outbox-work.ts';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { turnResult } from '../../../../../actors/events/inbox/turn-result.ts';
import { WorkPlaces } from '../../../../../actors/events/inbox/work-places.ts';
import { Circuits } from '../../../../../actors/events/outbox/circuits.ts';
import { outboxRows } from '../../../../../actors/events/outbox/outbox-rows.ts';
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
/** Of a request that nobody answers, in real time; on a busy machine others take their time, too. */
const SILENCE_MS = 60;
const MAX_STEPS = 600;
const retry = { attempts: 1_000, min_backoff_seconds: 0.2, max_backoff_seconds: 20, factor: 3 };
const DOUBT = /may (stand there twice|have arrived)/;
const OVER = /expired|15 minutes/;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const sure = (fault: Fault) => ({ fault, isSure: true });
const unsure = (fault: Fault) => ({ fault, isSure: false });
const faults = [
  sure({ kind: 'too many', seconds: 0.4 }),
  sure({ kind: 'too many', seconds: 30, scope: 'shared' }),
  sure({ kind: 'too many', seconds: 7, scope: 'global' }),
  sure({ kind: 'html', status: 429, retryAfter: '9' }),
  sure({ kind: 'refuse', error: chatError(130_000, { status: 503 }) }),
  unsure({ kind: 'html', status: 502, isTaken: true }),
  unsure({ kind: 'html', status: 502, retryAfter: '2', isTaken: true }),
  unsure({ kind: 'html', status: 500 }),
  unsure({ kind: 'cut', isTaken: true }),
  unsure({ kind: 'cut' }),
  unsure({ kind: 'hang', isTaken: true }),
  unsure({ kind: 'hang' }),
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

interface Asked {
  readonly event: StoredEvent;
  readonly token: string;
  readonly begunAt: number;
  /** Ids of rows and the words that each begins with, in the order in which they were made. */
  readonly rows: { readonly id: string; readonly word: string; readonly isFirst: boolean }[];
  said: number;
}

class World {
  readonly host = new TestSourceHost();
  readonly platform = new CommunityPlatform();
  readonly asked: Asked[] = [];
  /** Real milliseconds to an acknowledgement. */
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

  /** All that a process remembers is gone. */
  async build(): Promise<void> {
    await this.#opened?.close();
    // The path of the one before is free a little later.
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
      places: new WorkPlaces({ places: 100, bytes: 1e9, release: (name) => store.release(name) }),
      store,
    });
  }

  async ask(): Promise<void> {
    const realBegin = process.hrtime.bigint();
    const begunAt = performance.now();
    const { status, body, token, id } = await this.platform.send({ act: command('ask') });
    this.slowest = Math.max(this.slowest, Number(process.hrtime.bigint() - realBegin) / 1e6);
    expect([status, body]).toEqual([200, { type: 5 }]);
    // It is durable by then.
    const event = this.host.store.events.find((each) => each.id.endsWith(`/${id}`));
    if (event === undefined) throw new Error('it was acknowledged, and is not there');
    this.asked.push({ event, token, begunAt, rows: [], said: 0 });
  }

  async say(nth: number, parts: number): Promise<void> {
    const asked = this.asked[nth];
    if (asked === undefined || this.#adapter.outbound === undefined) return;
    const said = asked.said++;
    const words = Array.from({ length: parts }, (_, part) => `${nth}.${said}.${part}`);
    const text = words.map((word) => `${word} ${'x '.repeat(990)}`).join('\n\n');
    const inbound = this.#adapter.read(asked.event);
    const target = this.#adapter.outbound.target(this.#trigger, inbound);
    if (target === undefined) throw new Error('there is nowhere to say it');
    const message = { target, action: { do: 'post' }, text, expiresAt: inbound.answerBy } as const;
    const account = accountOf(this.#adapter, this.#trigger);
    const origin = { eventId: asked.event.id, trace: '', about: `said${said}` };
    const rows = outboxRows(this.#adapter.outbound, account, this.#trigger, message, origin);
    expect(rows).toHaveLength(parts);
    await this.host.store.append(rows);
    asked.rows.push(
      ...rows.map(({ id }, part) => ({ id, word: words[part] as string, isFirst: part === 0 })),
    );
  }

  /** One attempt at whatever is due; a process that ends meanwhile has kept nothing of it. Gives how many there were. */
  async send({ isKilled = false } = {}): Promise<number> {
    const work = this.#work as OutboxWork;
    const { store } = this.host;
    const turns = await store.claim(100, 3_600_000, 'outbox/');
    const results = await Promise.all(
      turns.map(async ({ key, fence, event, snapshot }) => {
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
    return turns.length;
  }

  /** Until nothing waits any more. */
  async end(): Promise<void> {
    for (let step = 0; step < MAX_STEPS; step += 1) {
      if ((await this.send()) > 0) continue;
      const rows = await this.host.store.deliveries({ keyPrefix: 'outbox/', limit: 1_000 });
      const waiting = rows.filter(({ endedAt }) => endedAt === undefined);
      if (waiting.length === 0) return;
      const next = Math.min(...waiting.map(({ retryAt }) => retryAt ?? Number.POSITIVE_INFINITY));
      vi.advanceTimersByTime(Number.isFinite(next) ? Math.max(1, next - Date.now()) : 1_000);
    }
    throw new Error('it does not come to an end');
  }

  async carryOut(each: Happening): Promise<void> {
    if (each.do === 'ask') await this.ask();
    else if (each.do === 'say') await this.say(each.nth, each.parts);
    else if (each.do === 'fault') void this.#plan(each.which.fault, each.isOfPart);
    else if (each.do === 'pass') vi.advanceTimersByTime(each.ms);
    else if (each.do === 'rebuild') await this.build();
    else await this.send({ isKilled: each.do === 'kill' });
  }

  /** For the next request that would show something, or the next that says more. */
  #plan(fault: Fault, isOfPart: boolean): Promise<void> {
    return this.platform.faults.plan(fault, ({ channel, method }) =>
      isOfPart ? method === 'POST' : channel !== '',
    );
  }

  async recordOf(id: string): Promise<Delivery> {
    const record = await this.host.store.delivery(id);
    if (record === undefined) throw new Error('it has no record');
    return record;
  }
}

const wordOf = (content: unknown) => String(content ?? '').split(' ')[0] ?? '';
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
  const seen = platform.world.messages.map(({ body }) => wordOf(body.content));
  for (const [nth, { rows, token, begunAt }] of world.asked.entries()) {
    const calls = platform.calls.filter(({ path }) => path.includes(token));
    for (const { at } of calls) expect(at - begunAt).toBeLessThanOrEqual(LASTS_MS);
    expect(isSorted(calls.map(({ body }) => wordOf((body as { content?: unknown }).content)))).toBe(true);
    const own = seen.filter((word) => word.startsWith(`${nth}.`));
    const firsts = new Set(rows.filter(({ isFirst }) => isFirst).map(({ word }) => word));
    expect(isSorted(own.filter((word) => !firsts.has(word)))).toBe(true);
    // There is one place for what stands first.
    expect(own.filter((word) => firsts.has(word)).length).toBeLessThanOrEqual(1);
    for (const { id, word, isFirst } of rows) {
      const { state, note = '', failures, endedAt = 0 } = await world.recordOf(id);
      const count = own.filter((each) => each === word).length;
      const doubts = [note, ...failures.map((each) => each.note)].filter((each) => DOUBT.test(each));
      if (count > 1) expect([word, doubts]).not.toEqual([word, []]);
      if (state === 'done' && !isFirst) {
        expect([word, count]).not.toEqual([word, 0]);
        if (count > 1) expect(note).toMatch(/may stand there twice/);
        if (isAllSure) expect(note).toBe('');
      } else if (state !== 'done') {
        // Nothing ends it but its time.
        expect(note).toMatch(OVER);
        expect(endedAt - world.asked[nth]!.event.at).toBeGreaterThanOrEqual(LASTS_MS);
      }
    }
    const done = [];
    for (const row of rows)
      if (row.isFirst && (await world.recordOf(row.id)).state === 'done') done.push(row.word);
    const stands = own.find((word) => firsts.has(word));
    const last = done.at(-1);
    if (last !== undefined) expect(isSorted([last, stands ?? ''])).toBe(true);
  }
}

const failsPart = (which: (typeof faults)[number]) => ({ do: 'fault', which, isOfPart: true }) as const;
const sends = { do: 'send' } as const;
const says = { do: 'say', nth: 0, parts: 3 } as const;
const passes = { do: 'pass', ms: 31_000 } as const;
/** Doubts that come before something certain, and are not to be forgotten. */
const doubts: readonly (readonly Happening[])[] = [
  [says, failsPart(faults[8]), failsPart(faults[0]), sends, sends, passes, sends, passes, sends],
  [says, failsPart(faults[6]), sends, sends, passes, sends],
];

const holds = async (happenings: readonly Happening[]): Promise<void> => {
  const world = await new World().start();
  try {
    for (const each of happenings) await world.carryOut(each);
    await world.end();
    const isAllSure = happenings.every(
      (each) => each.do !== 'kill' && each.do !== 'rebuild' && !(each.do === 'fault' && !each.which.isSure),
    );
    await check(world, isAllSure);
  } finally {
    await world.stop();
  }
};

test('each interaction is acknowledged in time, and what is said of it stands once and in order, or its record tells of the doubt or the end', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { minLength: 5, maxLength: 30, size: 'max' }), (happenings) =>
      holds([{ do: 'ask' }, ...happenings]),
    ),
    { numRuns: runs(20), examples: doubts.map((each): [Happening[]] => [[...each]]) },
  );
});
