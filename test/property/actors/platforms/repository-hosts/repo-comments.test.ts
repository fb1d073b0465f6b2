// Comments that the outbox (the sender of stored messages) posts at fake repository hosts of all kinds, in
// simulated time. The host refuses requests, requests pauses, fails although it stored the comment, or cuts
// connections. The gateway is killed. Each comment is posted once or is refused permanently, and the write
// rate stays within its limit.

import fc from 'fast-check';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { OutboxWork } from '../../../../../actors/automation/works/outbox-work.ts';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { turnResult } from '../../../../../actors/events/inbox/turn-result.ts';
import { WorkSlots } from '../../../../../actors/events/inbox/work-slots.ts';
import { Circuits } from '../../../../../actors/events/outbox/circuits.ts';
import type { Outbound } from '../../../../../actors/events/outbox/outbound.ts';
import { outboxRows } from '../../../../../actors/events/outbox/rows.ts';
import { accountOf } from '../../../../../actors/platforms/adapter.ts';
import { makeAdapters } from '../../../../../actors/platforms/adapters.ts';
import type { StoredEvent } from '../../../../../actors/store/event.ts';
import type { Trigger } from '../../../../../config/resources/triggers/trigger.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { repoHostTrigger } from '../../../../fixtures/automation/triggers.ts';
import { runs } from '../../../../fixtures/property-runs.ts';
import type { Refusal } from '../../../../fixtures/repositories/fake-repo-api.ts';
import type { HostEvent, LocalRepoHost } from '../../../../fixtures/repositories/local-repo-host.ts';
import { localRepoHosts } from '../../../../fixtures/repositories/local-repo-hosts.ts';

/** Simulated time in which all comments must be final. */
const MAX_DURATION_MS = 36_000_000;
const DESTINATIONS = 2;

/** Fault when a comment is written, or when an earlier comment is searched. */
interface Fault extends Refusal {
  /** True if the gateway is killed before it receives the response. */
  readonly isKilled?: boolean;
}

const retryAfter = (status: number, seconds: string) => ({ status, headers: { 'retry-after': seconds } });
const cutAfterStoring = { status: 0, isCut: true };
const cutBeforeStoring = { status: 0, isLost: true };

const arbTemporaryFault = fc.constantFrom<Fault>(
  retryAfter(429, '1'),
  retryAfter(429, '90'),
  retryAfter(403, '5'),
  { status: 429 },
  retryAfter(503, '2'),
  { status: 500 },
  { status: 503 },
  cutBeforeStoring,
);

// The second group has an unknown outcome. The third group refuses the comment permanently.
const arbWriteFault = fc.oneof(
  { weight: 6, arbitrary: arbTemporaryFault },
  {
    weight: 6,
    arbitrary: fc.constantFrom<Fault>(
      cutAfterStoring,
      { status: 502, isStored: true },
      { status: 504, isStored: true },
      { ...retryAfter(502, '2'), isStored: true },
      { status: 0, isSilent: true, isKilled: true },
      { status: 0, isSilent: true, isCut: true, isKilled: true },
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom<Fault>({ status: 401 }, { status: 404 }, { status: 422 }) },
);

const arbSearchFault = fc.oneof(
  arbTemporaryFault,
  fc.constantFrom<Fault>(cutAfterStoring, { status: 502 }, { status: 0, isSilent: true, isKilled: true }),
);

/** Faults of the next requests that write or search comments, and the destination of each comment. */
const arbFaultPlan = fc.record({
  writing: fc.array(arbWriteFault, { maxLength: 8 }),
  searching: fc.array(arbSearchFault, { maxLength: 4 }),
  rows: fc.array(fc.nat(DESTINATIONS - 1), { minLength: 1, maxLength: 3 }),
});

type FaultPlan = typeof arbFaultPlan extends fc.Arbitrary<infer T> ? T : never;

/** A comment in the outbox. */
interface Row {
  event: StoredEvent;
  /** The request that the comment belongs to. */
  readonly about: HostEvent;
  readonly text: string;
  /** Earliest start of the next attempt, by performance.now. */
  dueAt: number;
  /** Final state. */
  end?: string;
}

/**
 * Regression: a proxy error with `Retry-After` does not count as an attempt, although the comment may have
 * been stored.
 */
const storedAndRefused: FaultPlan = {
  writing: [{ ...retryAfter(502, '2'), isStored: true }],
  searching: [],
  rows: [0],
};

let runCount = 0;
const slots = new WorkSlots({ slots: 1_000, bytes: 10_000_000, release: async () => 0 });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(() => slots.close());

/**
 * Sends one comment per row until each row is final. Returns the rows and the requests that post comments.
 */
async function sendAll(host: LocalRepoHost, { writing, searching, rows: destinations }: FaultPlan) {
  const { api } = host;
  const run = `r${runCount++}`;
  const trigger = {
    ...repoHostTrigger('reviews', host.config(host.access(run))),
    type: host.type,
    retry: { attempts: 40, min_backoff_seconds: 0.2, max_backoff_seconds: 1, factor: 2 },
  } as Trigger;
  let work!: OutboxWork;
  const startProcess = () => {
    const adapter = makeAdapters(adapterServices()).ofType(trigger.type);
    const account = accountOf(adapter, trigger);
    work = new OutboxWork({
      platform: account.platform,
      routing: { adapterOf: () => adapter, trigger: () => trigger, triggers: () => [trigger] },
      slots,
      store: { delivery: async () => undefined, now: Date.now },
      circuits: new Circuits({ log: silentLog, now: () => performance.now(), random: () => 0.5 }),
    });
    return { account, outbound: adapter.outbound as Outbound<Trigger> };
  };
  const { account, outbound } = startProcess();
  const rows = destinations.map((destination, n): Row => {
    const about: HostEvent = { kind: 'request comment', repository: `acme/${run}`, number: destination + 1 };
    const text = `m${n}`;
    const message = { target: { place: host.place(about) }, text, action: { do: 'post' } } as const;
    const origin = { eventId: `${run}-${n}`, trace: '' };
    const [draft] = outboxRows(outbound, account, trigger, message, origin);
    const event = { ...draft, seq: n, at: Date.now(), attempt: 1, crashes: 0 } as StoredEvent;
    return { event, about, text, dueAt: performance.now() };
  });

  let killController: AbortController | undefined;
  const planFaults = (when: RegExp, faults: readonly Fault[]) => {
    for (const { isKilled = false, ...fault } of faults)
      void api.refuse(when, fault).then(() => {
        if (isKilled) killController?.abort();
      });
  };
  planFaults(host.posting, writing);
  planFaults(/^GET .*\/(comments|notes)$/, searching);

  const attempt = async (row: Row): Promise<void> => {
    const { event } = row;
    killController = new AbortController();
    const { signal } = killController;
    const outcome = await work.perform({ event, snapshot: undefined, signal, checkpoint: async () => {} });
    if (signal.aborted) {
      // The process was killed. The next one reclaims the row.
      row.event = { ...event, wasClaimed: true, crashes: event.crashes + 1 };
      startProcess();
      return;
    }
    const result = turnResult({ key: event.key, fence: 1 }, event, outcome, 0.5, false, String, Date.now());
    const { retryInMs = 0, wasClaimed } = result;
    row.dueAt = performance.now() + retryInMs;
    if (result.outcome === 'deferred') row.event = { ...event, wasClaimed };
    else if (result.outcome === 'retrying')
      row.event = { ...event, attempt: event.attempt + 1, wasClaimed: true };
    else row.end = result.outcome;
  };

  const startedAt = performance.now();
  const requestsBefore = api.requests.length;
  for (;;) {
    // The first pending row per destination, like the outbox.
    const heads = rows.filter(
      (row, n) =>
        row.end === undefined &&
        !rows
          .slice(0, n)
          .some((before) => before.end === undefined && before.about.number === row.about.number),
    );
    if (heads.length === 0) break;
    const next = heads.reduce((first, row) => (row.dueAt < first.dueAt ? row : first));
    vi.advanceTimersByTime(Math.max(0, next.dueAt - performance.now()));
    if (performance.now() - startedAt > MAX_DURATION_MS) throw new Error('rows are still pending');
    await attempt(next);
  }
  api.relent();
  const posts = api.requests
    .slice(requestsBefore)
    .filter(({ method, path }) => host.posting.test(`${method} ${path}`));
  return { rows, posts };
}

describe.each(Object.entries(localRepoHosts))('%s', (_, make) => {
  const host = make();
  afterAll(() => host.stop());

  test('each comment is posted once, or is refused permanently and not posted', async () => {
    await host.start();
    await fc.assert(
      fc.asyncProperty(arbFaultPlan, async (faultPlan) => {
        const { rows, posts } = await sendAll(host, faultPlan);
        for (const { about, text, end } of rows) {
          const visibleComments = host.comments(host.place(about)).filter((each) => each.text === text);
          const expected = end === 'dead' ? [text, 'dead', 0] : [text, 'done', 1];
          expect([text, end, visibleComments.length]).toEqual(expected);
        }
        const isRefused = faultPlan.writing.some(({ status }) => [401, 404, 422].includes(status));
        if (!isRefused) expect(rows.map(({ end }) => end)).toEqual(rows.map(() => 'done'));
        // A restarted process does not know when the previous process wrote comments.
        if ([...faultPlan.writing, ...faultPlan.searching].some(({ isKilled }) => isKilled)) return;
        // Between two requests that post a comment, at least `writeEveryMs` pass. 1 ms is for rounding.
        const firstPostAt = posts[0]?.at ?? 0;
        for (const [i, { at }] of posts.entries())
          expect(at - firstPostAt).toBeGreaterThanOrEqual(i * host.writeEveryMs - 1);
      }),
      { numRuns: runs(60), examples: [[storedAndRefused]] },
    );
  });
});
