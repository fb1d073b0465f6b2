// What a bot of a team chat sends to conversations of several services, in a time of the test's own, while these refuse, cut, are away
// or dead, take its token no longer, and give it none: by the outbox, against the fake of the platform.

import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OutboxWork } from '../../../../../actors/automation/works/outbox-work.ts';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { turnResult } from '../../../../../actors/events/inbox/turn-result.ts';
import { WorkPlaces } from '../../../../../actors/events/inbox/work-places.ts';
import { Circuits } from '../../../../../actors/events/outbox/circuits.ts';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import type { Outbound } from '../../../../../actors/events/outbox/outbound.ts';
import { outboxRows } from '../../../../../actors/events/outbox/outbox-rows.ts';
import { type Adapter, accountOf } from '../../../../../actors/platforms/adapter.ts';
import { teamChatAdapter } from '../../../../../actors/platforms/teamchat/adapter.ts';
import { KnownConversations } from '../../../../../actors/platforms/teamchat/known-conversations.ts';
import { teamChatOutbound } from '../../../../../actors/platforms/teamchat/outbound.ts';
import { teamPacing } from '../../../../../actors/platforms/teamchat/pacing.ts';
import type { StoredEvent } from '../../../../../actors/store/event.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { teamChatTrigger } from '../../../../fixtures/automation/triggers.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';
import { type Fault, TeamPlatform } from '../../../../fixtures/team-platform/team-platform.ts';

const SECOND = 1_000;
const DEAD = 'http://127.0.0.1:9';
const LONGEST_MS = 3_600_000;

/** Another service, which takes the same tokens. */
class OtherService extends TeamPlatform {
  override readonly tokens: string[];

  constructor(tokens: string[]) {
    super();
    this.tokens = tokens;
  }
}

let near: TeamPlatform;
let far: OtherService;
const places = new WorkPlaces({ places: 1_000, bytes: 10_000_000, release: async () => 0 });
let runs = 0;

beforeAll(async () => {
  near = await new TeamPlatform().start();
  far = await new OtherService(near.tokens).start();
});
afterAll(async () => {
  places.close();
  await Promise.all([near.stop(), far.stop()]);
});

const refusal = (status: number, retryAfter?: string) => ({
  kind: 'refuse' as const,
  error: { status, code: 'Refused', message: 'by the test', ...(retryAfter && { retryAfter }) },
});

const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.constantFrom(refusal(412), refusal(429), refusal(429, '3'), refusal(503), refusal(503, '2')),
  fc
    .record({
      status: fc.constantFrom(500, 502, 504),
      retryAfter: fc.constantFrom(undefined, '2'),
      isTaken: fc.boolean(),
    })
    .map(({ status, retryAfter, isTaken }) => ({ ...refusal(status, retryAfter), isTaken })),
  fc.constantFrom<Fault>({ kind: 'html', status: 200 }, { kind: 'html', status: 502, retryAfter: '2' }),
  fc.boolean().map((isTaken): Fault => ({ kind: 'cut', isTaken })),
);

/** Two at each service that answers, and two at a dead one. */
const CONVERSATIONS = 6;
const conversation = fc.nat(CONVERSATIONS - 1);

const step = fc.record({
  afterMs: fc.constantFrom(0, 0, 10, 400, 3_000),
  what: fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: fc.constant('say' as const), conversation }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('fail' as const), conversation, fault }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('revoke' as const), isNear: fc.boolean() }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('noToken' as const), status: fc.constantFrom(429, 503) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('away' as const), isAway: fc.boolean() }) },
  ),
});

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

interface Row {
  event: StoredEvent;
  readonly text: string;
  /** It is not tried before. */
  at: number;
  /** Whether an attempt has ended so that it may have arrived. */
  isInDoubt: boolean;
  end?: { readonly outcome: string; readonly note: string | undefined };
}

/** Until all that is for a service that answers has ended. */
async function sendAll(steps: readonly Step[]) {
  near.tokenFaults.length = 0;
  far.isAway = false;
  let now = 0;
  const run = `r${runs++}`;
  const trigger = {
    ...teamChatTrigger('desk', { ...near.config, service_url_allow: [near.url, far.url, DEAD] }),
    retry: { attempts: 40, min_backoff_seconds: 0.2, max_backoff_seconds: 1, factor: 2 },
  };
  const rowsById = new Map<string, Row>();
  const outbound = teamChatOutbound(
    teamPacing(() => now),
    new KnownConversations(new MemoryStore()),
  );
  const watched: typeof outbound = {
    ...outbound,
    send: (to, message, context) =>
      outbound.send(to, message, context).catch((error: unknown) => {
        const row = rowsById.get(context.rowId) as Row;
        if (!(error instanceof DeliveryError) || error.isOutcomeUnknown) row.isInDoubt = true;
        throw error;
      }),
  };
  const adapter = { ...teamChatAdapter(adapterServices()), outbound: watched };
  const account = accountOf(adapter, trigger);
  const work = new OutboxWork({
    platform: account.platform,
    routing: {
      adapterOf: () => adapter as unknown as Adapter,
      trigger: () => trigger,
      triggers: () => [trigger],
    },
    places,
    store: { delivery: async () => undefined },
    circuits: new Circuits({ log: silentLog, now: () => now, random: () => 0.5 }),
  });
  const to = Array.from({ length: CONVERSATIONS }, (_, n) => {
    const platform = [near, near, far, far][n];
    return {
      platform,
      serviceUrl: platform?.serviceUrl ?? `${DEAD}/amer/`,
      place: `${run}-${n}`,
      rows: [] as Row[],
    };
  });
  const notesOfLiving: string[] = [];
  const left = new Map<string, number[]>();
  const about = { tokens: near.tokenRequests.length, revoked: 0, refused: 0 };

  const act = ({ what }: Step, n: number) => {
    if (what.do === 'say') {
      const { place, serviceUrl, rows } = to[what.conversation] as (typeof to)[number];
      const message = { target: { place, serviceUrl }, text: `m${n}`, action: { do: 'post' } } as const;
      const origin = { eventId: `${run}-${n}`, trace: '' };
      const [made] = outboxRows(outbound as Outbound<typeof trigger>, account, trigger, message, origin);
      const event = { ...made, seq: n, at: Date.now(), attempt: 1, crashes: 0 } as StoredEvent;
      const row = { event, text: `m${n}`, at: now, isInDoubt: false };
      rows.push(row);
      rowsById.set(event.id, row);
    } else if (what.do === 'fail') {
      const { platform, place } = to[what.conversation] as (typeof to)[number];
      void platform?.fail(what.fault, place);
    } else if (what.do === 'revoke') {
      (what.isNear ? near : far).revokeTokens();
      about.revoked += 1;
    } else if (what.do === 'noToken') {
      near.tokenFaults.push({ status: what.status, body: {} });
      about.refused += 1;
    } else far.isAway = what.isAway;
  };

  const attempt = async (row: Row, isLiving: boolean) => {
    const { event } = row;
    const { signal } = new AbortController();
    const outcome = await work.perform({ event, snapshot: undefined, signal, checkpoint: async () => {} });
    const result = turnResult({ key: event.key, fence: 1 }, event, outcome, 0.5, false, (text) => text);
    const { retryInMs = 0, wasClaimed, note } = result;
    if (isLiving && note !== undefined) notesOfLiving.push(note);
    row.at = now + retryInMs;
    if (result.outcome === 'deferred') row.event = { ...event, wasClaimed };
    else if (result.outcome === 'retrying')
      row.event = { ...event, attempt: event.attempt + 1, wasClaimed: true };
    else row.end = { outcome: result.outcome, note };
  };

  const waiting = [...steps.entries()];
  let stepAt = steps[0]?.afterMs ?? 0;
  const heads = () =>
    to.flatMap(({ rows, platform }) => {
      const row = rows.find(({ end }) => end === undefined);
      return row === undefined ? [] : [{ row, isLiving: platform !== undefined }];
    });
  for (;;) {
    for (let [next] = waiting; next !== undefined && stepAt <= now; [next] = waiting) {
      act(next[1], next[0]);
      waiting.shift();
      stepAt += waiting[0]?.[1].afterMs ?? 0;
    }
    if (waiting.length === 0) far.isAway = false;
    const all = heads();
    if (waiting.length === 0 && all.every(({ isLiving }) => !isLiving)) break;
    const due = all.filter(({ row }) => row.at <= now);
    await Promise.all(due.map(({ row, isLiving }) => attempt(row, isLiving)));
    // Of a token that is renewed, and of what was too soon, the platform counts nothing.
    for (const { conversation: place, status } of [...near.calls.splice(0), ...far.calls.splice(0)])
      if (status !== 401 && status !== 429) left.set(place, [...(left.get(place) ?? []), now]);
    if (due.length > 0) continue;
    now = Math.min(...all.map(({ row }) => row.at), waiting.length > 0 ? stepAt : Number.POSITIVE_INFINITY);
    if (now > LONGEST_MS) throw new Error('it does not end');
  }
  return { to, left, notesOfLiving, about };
}

/** A proxy gives up, and says when to come again: that is no attempt, but it may have arrived. */
const doubtWithPause: Step[] = [
  { afterMs: 0, what: { do: 'fail', conversation: 0, fault: { ...refusal(502, '2'), isTaken: true } } },
  { afterMs: 0, what: { do: 'say', conversation: 0 } },
];

/** A refusal afterwards says nothing of what was before. */
const doubtBeforeRefusal: Step[] = [
  { afterMs: 0, what: { do: 'fail', conversation: 0, fault: { kind: 'cut', isTaken: true } } },
  { afterMs: 0, what: { do: 'fail', conversation: 0, fault: refusal(412) } },
  { afterMs: 0, what: { do: 'say', conversation: 0 } },
];

test('whatever refuses, cuts, is away or dead: each message stands there once, or its record tells of the doubt (UR1); in order, one a second, and with few tokens', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
      const { to, left, notesOfLiving, about } = await sendAll(steps);
      for (const { platform, place, rows } of to) {
        if (platform === undefined) {
          expect(rows.filter(({ end }) => end !== undefined)).toEqual([]);
          continue;
        }
        const there = platform.textsTo(place);
        expect(there.filter((text, i) => text !== there[i - 1])).toEqual(rows.map(({ text }) => text));
        for (const { text, isInDoubt, end } of rows) {
          const note = isInDoubt ? expect.stringContaining('may stand there twice') : undefined;
          expect(end).toEqual({ outcome: 'done', note });
          if (!isInDoubt) expect(there.filter((each) => each === text)).toHaveLength(1);
        }
        const times = left.get(place) ?? [];
        for (const [i, at] of times.slice(1).entries())
          expect(at - (times[i] as number)).toBeGreaterThanOrEqual(SECOND);
      }
      expect(near.tokenRequests.length - about.tokens).toBeLessThanOrEqual(1 + about.revoked + about.refused);
      // Nobody waits for a service that is not his own.
      expect(notesOfLiving.filter((note) => note.includes(new URL(DEAD).host))).toEqual([]);
    }),
    { numRuns: 60, examples: [[doubtWithPause], [doubtBeforeRefusal]] },
  );
});
