// Comments of several triggers with the same token, through the outbox, with local hosts of all kinds and
// simulated time: refusals, pauses, errors although the comment was stored, cut connections, and a killed
// gateway.

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

const LONGEST_MS = 36_000_000;
const DESTINATIONS = 2;

/** Fault when a comment is written, or when an earlier comment is searched. */
interface Fault extends Refusal {
  /** True if the gateway is killed before it receives the response. */
  readonly isKilled?: boolean;
}

const later = (status: number, seconds: string) => ({ status, headers: { 'retry-after': seconds } });
const cut = { status: 0, isCut: true };
const lost = { status: 0, isLost: true };

const passing = fc.constantFrom<Fault>(
  later(429, '1'),
  later(429, '90'),
  later(403, '5'),
  { status: 429 },
  later(503, '2'),
  { status: 500 },
  { status: 503 },
  lost,
);

const writeFault = fc.oneof(
  { weight: 6, arbitrary: passing },
  {
    weight: 6,
    arbitrary: fc.constantFrom<Fault>(
      cut,
      { status: 502, isStored: true },
      { status: 504, isStored: true },
      { ...later(502, '2'), isStored: true },
      { status: 0, isSilent: true, isKilled: true },
      { status: 0, isSilent: true, isCut: true, isKilled: true },
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom<Fault>({ status: 401 }, { status: 404 }, { status: 422 }) },
);

const searchFault = fc.oneof(
  passing,
  fc.constantFrom<Fault>(cut, { status: 502 }, { status: 0, isSilent: true, isKilled: true }),
);

const faultPlan = fc.record({
  writing: fc.array(writeFault, { maxLength: 8 }),
  looking: fc.array(searchFault, { maxLength: 4 }),
  rows: fc.array(fc.nat(DESTINATIONS - 1), { minLength: 1, maxLength: 3 }),
});

type Troubles = typeof faultPlan extends fc.Arbitrary<infer T> ? T : never;

interface Row {
  event: StoredEvent;
  readonly about: HostEvent;
  readonly text: string;
  /** Earliest time of the next attempt, by performance.now. */
  at: number;
  end?: string;
}

/** A proxy error with `Retry-After` does not count as an attempt, but the comment may have been stored. */
const doubtWithPause: Troubles = {
  writing: [{ ...later(502, '2'), isStored: true }],
  looking: [],
  rows: [0],
};

let count = 0;
const slots = new WorkSlots({ slots: 1_000, bytes: 10_000_000, release: async () => 0 });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(() => slots.close());

/** Sends until each row is final. */
async function sendAll(host: LocalRepoHost, { writing, looking, rows: wanted }: Troubles) {
  const { api } = host;
  const run = `r${count++}`;
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
      store: { delivery: async () => undefined },
      circuits: new Circuits({ log: silentLog, now: () => performance.now(), random: () => 0.5 }),
    });
    return { account, outbound: adapter.outbound as Outbound<Trigger> };
  };
  const { account, outbound } = startProcess();
  const rows = wanted.map((place, n): Row => {
    const about: HostEvent = { kind: 'request comment', repository: `acme/${run}`, number: place + 1 };
    const text = `m${n}`;
    const message = { target: { place: host.place(about) }, text, action: { do: 'post' } } as const;
    const origin = { eventId: `${run}-${n}`, trace: '' };
    const [draft] = outboxRows(outbound, account, trigger, message, origin);
    const event = { ...draft, seq: n, at: Date.now(), attempt: 1, crashes: 0 } as StoredEvent;
    return { event, about, text, at: performance.now() };
  });

  let killController: AbortController | undefined;
  const plan = (when: RegExp, faults: readonly Fault[]) => {
    for (const { isKilled = false, ...fault } of faults)
      void api.refuse(when, fault).then(() => {
        if (isKilled) killController?.abort();
      });
  };
  plan(host.posting, writing);
  plan(/^GET .*\/(comments|notes)$/, looking);

  const attempt = async (row: Row): Promise<void> => {
    const { event } = row;
    killController = new AbortController();
    const { signal } = killController;
    const outcome = await work.perform({ event, snapshot: undefined, signal, checkpoint: async () => {} });
    if (signal.aborted) {
      row.event = { ...event, wasClaimed: true, crashes: event.crashes + 1 };
      startProcess();
      return;
    }
    const result = turnResult({ key: event.key, fence: 1 }, event, outcome, 0.5, false, (text) => text);
    const { retryInMs = 0, wasClaimed } = result;
    row.at = performance.now() + retryInMs;
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
    const next = heads.reduce((first, row) => (row.at < first.at ? row : first));
    vi.advanceTimersByTime(Math.max(0, next.at - performance.now()));
    if (performance.now() - startedAt > LONGEST_MS) throw new Error('rows are still pending');
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
      fc.asyncProperty(faultPlan, async (all) => {
        const { rows, posts } = await sendAll(host, all);
        for (const { about, text, end } of rows) {
          const visibleComments = host.comments(host.place(about)).filter((each) => each.text === text);
          expect([text, end, visibleComments.length]).toEqual([
            text,
            ...(end === 'dead' ? ['dead', 0] : ['done', 1]),
          ]);
        }
        const isRefused = all.writing.some(({ status }) => [401, 404, 422].includes(status));
        if (!isRefused) expect(rows.map(({ end }) => end)).toEqual(rows.map(() => 'done'));
        // A restarted process does not know the slots that the previous process used.
        if (all.writing.some(({ isKilled }) => isKilled) || all.looking.some(({ isKilled }) => isKilled))
          return;
        // A late attempt still uses the slot.
        const [{ at: first } = { at: 0 }] = posts;
        for (const [i, { at }] of posts.entries())
          expect(at - first).toBeGreaterThanOrEqual(i * host.writeEveryMs - 1);
      }),
      { numRuns: runs(60), examples: [[doubtWithPause]] },
    );
  });
});
