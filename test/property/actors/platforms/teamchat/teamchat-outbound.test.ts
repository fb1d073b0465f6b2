// Messages that the outbox sends for a team chat bot to conversations at three services (hosts of the
// platform), with fake platforms and simulated time. Random steps create messages, plan faults, revoke
// tokens, let the token endpoint fail, and make a service unavailable. One service never responds. Each
// message is posted once and in order, or its record notes a possible duplicate.

import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OutboxWork } from '../../../../../actors/automation/works/outbox-work.ts';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { turnResult } from '../../../../../actors/events/inbox/turn-result.ts';
import { WorkSlots } from '../../../../../actors/events/inbox/work-slots.ts';
import { Circuits } from '../../../../../actors/events/outbox/circuits.ts';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import type { Outbound } from '../../../../../actors/events/outbox/outbound.ts';
import { outboxRows } from '../../../../../actors/events/outbox/rows.ts';
import { type Adapter, accountOf } from '../../../../../actors/platforms/adapter.ts';
import { teamChatAdapter } from '../../../../../actors/platforms/teamchat/adapter.ts';
import { teamChatOutbound } from '../../../../../actors/platforms/teamchat/outbound.ts';
import { teamPacing } from '../../../../../actors/platforms/teamchat/pacing.ts';
import { StoredConversations } from '../../../../../actors/platforms/teamchat/stored-conversations.ts';
import type { StoredEvent } from '../../../../../actors/store/event.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { teamChatTrigger } from '../../../../fixtures/automation/triggers.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';
import { type Fault, TeamPlatform } from '../../../../fixtures/team-platform/team-platform.ts';

const SECOND = 1_000;
/** URL of the service that never responds. */
const DEAD = 'http://127.0.0.1:9';
/** Simulated time after which a scenario fails. */
const LONGEST_MS = 3_600_000;

/** A second service that accepts the same tokens. */
class OtherService extends TeamPlatform {
  override readonly tokens: string[];

  constructor(tokens: string[]) {
    super();
    this.tokens = tokens;
  }
}

let mainService: TeamPlatform;
let otherService: OtherService;
const slots = new WorkSlots({ slots: 1_000, bytes: 10_000_000, release: async () => 0 });
let runCount = 0;

beforeAll(async () => {
  mainService = await new TeamPlatform().start();
  otherService = await new OtherService(mainService.tokens).start();
});
afterAll(async () => {
  slots.close();
  await Promise.all([mainService.stop(), otherService.stop()]);
});

const refusal = (status: number, retryAfter?: string) => ({
  kind: 'refuse' as const,
  error: { status, code: 'Refused', message: 'by the test', ...(retryAfter && { retryAfter }) },
});

/** `isTaken`: the platform posts the message despite the fault. */
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

/** Two conversations per service, available or not. */
const CONVERSATIONS = 6;
const conversation = fc.nat(CONVERSATIONS - 1);

const anyStep = fc.record({
  /** Delay after the previous step. */
  afterMs: fc.constantFrom(0, 0, 10, 400, 3_000),
  command: fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: fc.constant('say' as const), conversation }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('fail' as const), conversation, fault }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('revoke' as const), isMain: fc.boolean() }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('failToken' as const), status: fc.constantFrom(429, 503) }),
    },
    // The other service goes down, or recovers.
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('setUnavailable' as const), isUnavailable: fc.boolean() }),
    },
  ),
});

type Step = typeof anyStep extends fc.Arbitrary<infer S> ? S : never;

interface Row {
  event: StoredEvent;
  readonly text: string;
  /** Time of the next attempt to send. */
  at: number;
  /** True if an earlier attempt may have arrived. */
  isInDoubt: boolean;
  end?: { readonly outcome: string; readonly note: string | undefined };
}

/** Runs the steps, and sends until all rows for available services are final. */
async function sendAll(steps: readonly Step[]) {
  mainService.tokenFaults.length = 0;
  otherService.isUnavailable = false;
  let now = 0;
  // Distinguishes the conversations of this run at the shared platforms.
  const run = `r${runCount++}`;
  const trigger = {
    ...teamChatTrigger('desk', {
      ...mainService.config,
      service_url_allow: [mainService.url, otherService.url, DEAD],
    }),
    retry: { attempts: 40, min_backoff_seconds: 0.2, max_backoff_seconds: 1, factor: 2 },
  };
  const rowsById = new Map<string, Row>();
  const outbound = teamChatOutbound(
    teamPacing(() => now),
    new StoredConversations(new MemoryStore()),
  );
  // Marks the rows of messages that may have arrived although the attempt failed.
  const observedOutbound: typeof outbound = {
    ...outbound,
    send: (to, message, context) =>
      outbound.send(to, message, context).catch((error: unknown) => {
        const row = rowsById.get(context.rowId) as Row;
        if (!(error instanceof DeliveryError) || error.isOutcomeUnknown) row.isInDoubt = true;
        throw error;
      }),
  };
  const adapter = { ...teamChatAdapter(adapterServices()), outbound: observedOutbound };
  const account = accountOf(adapter, trigger);
  const work = new OutboxWork({
    platform: account.platform,
    routing: {
      adapterOf: () => adapter as unknown as Adapter,
      trigger: () => trigger,
      triggers: () => [trigger],
    },
    slots,
    store: { delivery: async () => undefined, now: Date.now },
    circuits: new Circuits({ log: silentLog, now: () => now, random: () => 0.5 }),
  });
  const conversations = Array.from({ length: CONVERSATIONS }, (_, n) => {
    const platform = [mainService, mainService, otherService, otherService][n];
    return {
      platform,
      serviceUrl: platform?.serviceUrl ?? `${DEAD}/amer/`,
      place: `${run}-${n}`,
      rows: [] as Row[],
    };
  });
  /** Notes of rows for available services. */
  const availableNotes: string[] = [];
  /** Times of the counted requests, by conversation. */
  const sentAt = new Map<string, number[]>();
  const counts = { tokensBefore: mainService.tokenRequests.length, revoked: 0, refused: 0 };

  const act = ({ command }: Step, n: number) => {
    if (command.do === 'say') {
      const { place, serviceUrl, rows } = conversations[
        command.conversation
      ] as (typeof conversations)[number];
      const message = { target: { place, serviceUrl }, text: `m${n}`, action: { do: 'post' } } as const;
      const origin = { eventId: `${run}-${n}`, trace: '' };
      const [draft] = outboxRows(outbound as Outbound<typeof trigger>, account, trigger, message, origin);
      const event = { ...draft, seq: n, at: Date.now(), attempt: 1, crashes: 0 } as StoredEvent;
      const row = { event, text: `m${n}`, at: now, isInDoubt: false };
      rows.push(row);
      rowsById.set(event.id, row);
    } else if (command.do === 'fail') {
      const { platform, place } = conversations[command.conversation] as (typeof conversations)[number];
      void platform?.fail(command.fault, place);
    } else if (command.do === 'revoke') {
      (command.isMain ? mainService : otherService).revokeTokens();
      counts.revoked += 1;
    } else if (command.do === 'failToken') {
      mainService.tokenFaults.push({ status: command.status, body: {} });
      counts.refused += 1;
    } else otherService.isUnavailable = command.isUnavailable;
  };

  const attempt = async (row: Row, isAvailable: boolean) => {
    const { event } = row;
    const { signal } = new AbortController();
    const outcome = await work.perform({ event, snapshot: undefined, signal, checkpoint: async () => {} });
    const result = turnResult({ key: event.key, fence: 1 }, event, outcome, 0.5, false, String, Date.now());
    const { retryInMs = 0, wasClaimed, note } = result;
    if (isAvailable && note !== undefined) availableNotes.push(note);
    row.at = now + retryInMs;
    if (result.outcome === 'deferred') row.event = { ...event, wasClaimed };
    else if (result.outcome === 'retrying')
      row.event = { ...event, attempt: event.attempt + 1, wasClaimed: true };
    else row.end = { outcome: result.outcome, note };
  };

  const pendingSteps = [...steps.entries()];
  /** Time of the next step. */
  let stepAt = steps[0]?.afterMs ?? 0;
  /** Returns the first unsent row per conversation. */
  const firstRows = () =>
    conversations.flatMap(({ rows, platform }) => {
      const row = rows.find(({ end }) => end === undefined);
      return row === undefined ? [] : [{ row, isAvailable: platform !== undefined }];
    });
  for (;;) {
    while (pendingSteps[0] !== undefined && stepAt <= now) {
      const [n, step] = pendingSteps[0];
      act(step, n);
      pendingSteps.shift();
      stepAt += pendingSteps[0]?.[1].afterMs ?? 0;
    }
    if (pendingSteps.length === 0) otherService.isUnavailable = false;
    const all = firstRows();
    if (pendingSteps.length === 0 && all.every(({ isAvailable }) => !isAvailable)) break;
    const due = all.filter(({ row }) => row.at <= now);
    await Promise.all(due.map(({ row, isAvailable }) => attempt(row, isAvailable)));
    // The platform does not count requests that have a revoked token or are rate-limited.
    for (const { conversation: place, status } of [
      ...mainService.calls.splice(0),
      ...otherService.calls.splice(0),
    ])
      if (status !== 401 && status !== 429) sentAt.set(place, [...(sentAt.get(place) ?? []), now]);
    if (due.length > 0) continue;
    now = Math.min(
      ...all.map(({ row }) => row.at),
      pendingSteps.length > 0 ? stepAt : Number.POSITIVE_INFINITY,
    );
    if (now > LONGEST_MS) throw new Error('rows are still pending');
  }
  return { conversations, sentAt, availableNotes, counts };
}

/** A proxy error with `Retry-After` does not count as an attempt, but the message may have arrived. */
const doubtWithPause: Step[] = [
  { afterMs: 0, command: { do: 'fail', conversation: 0, fault: { ...refusal(502, '2'), isTaken: true } } },
  { afterMs: 0, command: { do: 'say', conversation: 0 } },
];

/** A later refusal does not tell whether an earlier attempt arrived. */
const doubtBeforeRefusal: Step[] = [
  { afterMs: 0, command: { do: 'fail', conversation: 0, fault: { kind: 'cut', isTaken: true } } },
  { afterMs: 0, command: { do: 'fail', conversation: 0, fault: refusal(412) } },
  { afterMs: 0, command: { do: 'say', conversation: 0 } },
];

test('despite service faults, messages are posted once, in order, one per second, or the record notes a possible duplicate', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 40 }), async (steps) => {
      const { conversations, sentAt, availableNotes, counts } = await sendAll(steps);
      for (const { platform, place, rows } of conversations) {
        if (platform === undefined) {
          expect(rows.filter(({ end }) => end !== undefined)).toEqual([]);
          continue;
        }
        const visibleTexts = platform.textsTo(place);
        // Duplicates are adjacent.
        expect(visibleTexts.filter((text, i) => text !== visibleTexts[i - 1])).toEqual(
          rows.map(({ text }) => text),
        );
        for (const { text, isInDoubt, end } of rows) {
          const note = isInDoubt ? expect.stringContaining('possible duplicate') : undefined;
          expect(end).toEqual({ outcome: 'done', note });
          if (!isInDoubt) expect(visibleTexts.filter((each) => each === text)).toHaveLength(1);
        }
        const times = sentAt.get(place) ?? [];
        for (const [i, at] of times.slice(1).entries())
          expect(at - (times[i] as number)).toBeGreaterThanOrEqual(SECOND);
      }
      // One token request, and one more per revoked or refused token.
      expect(mainService.tokenRequests.length - counts.tokensBefore).toBeLessThanOrEqual(
        1 + counts.revoked + counts.refused,
      );
      // An unavailable service does not delay other services.
      expect(availableNotes.filter((note) => note.includes(new URL(DEAD).host))).toEqual([]);
    }),
    { numRuns: 60, examples: [[doubtWithPause], [doubtBeforeRefusal]] },
  );
});
