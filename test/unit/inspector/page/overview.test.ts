// What the overview tells first: whatever is wrong, in its order, and nothing that is in order. And the filter over the deliveries.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ApprovalRecord } from '../../../../src/http/api/approval-shapes.ts';
import type { DeliveryRecord } from '../../../../src/http/api/delivery-shapes.ts';
import type { RunRecord } from '../../../../src/http/api/run-shapes.ts';
import type { TriggerState } from '../../../../src/http/api/trigger-shapes.ts';
import {
  deliveriesView,
  deliveryAt,
  pathOf,
  sectionAt,
  toolIn,
  toolsView,
  viewAt,
} from '../../../../src/inspector/page/address.ts';
import {
  askedBy,
  deliveryStates,
  queryFrom,
  queryOf,
  textOf,
} from '../../../../src/inspector/page/deliveries/delivery-filter.ts';
import { emptyState, type PageState, type ServerView } from '../../../../src/inspector/page/feed/store.ts';
import { type AskedWork, MOST, wrongThings } from '../../../../src/inspector/page/overview/wrong-things.ts';
import { counted, countedOf } from '../../../../src/inspector/page/words.ts';
import type { AutomationTotals, Totals } from '../../../../src/inspector/wire/feed-wire.ts';

const NOW = 1_000_000;
const iso = (epochMs: number) => new Date(epochMs).toISOString();

const server = (id: string, more: Partial<ServerView> = {}): ServerView => ({
  ...{ id, state: 'running', requests: 0, failed: 0, in_flight: 0, waiting: 0, restarts: 0, at: NOW },
  ...{ uptime_seconds: 1, latency_ms: { p50: null, p95: null, p99: null }, next_retry_at: null },
  ...{ is_parked: false, last_error: null, ...more },
});
const trigger = (name: string, more: Partial<TriggerState> = {}): TriggerState => ({
  ...{ name, type: 'HTTP', state: 'open', paused: false, handled: 0, failed: 0, last_event_at: null },
  ...{ last_error: null, next_retry_at: null, connection: null, circuit: null, ...more },
});
const run = (id: string): RunRecord => ({ id, name: `agent of ${id}`, note: null }) as RunRecord;
const delivery = (id: string): DeliveryRecord => ({ id, trigger: 'orders', note: null }) as DeliveryRecord;
const approval = (id: string): ApprovalRecord =>
  ({ id, title: `title of ${id}`, requested_at: iso(NOW - 5_000), requested_by: null }) as ApprovalRecord;

const EXITED = { code: 'ERR_CHILD_EXIT', message: 'it exited' };

interface Made {
  readonly servers?: readonly ServerView[];
  readonly triggers?: readonly TriggerState[];
  readonly failed?: readonly string[];
  readonly dead?: readonly string[];
  readonly pending?: readonly string[];
  /** As the store counts them; null: it does not answer. */
  readonly deadInAll?: number | null;
}

function made({ servers = [], triggers = [], failed = [], dead = [], pending = [], deadInAll }: Made) {
  const counts = { queued: 0, running: 0, retrying: 0, held: 0, waiting: 0 };
  const deliveries = deadInAll === null ? null : { ...counts, dead: deadInAll ?? dead.length };
  const automation: AutomationTotals = { deliveries, works: [] };
  const state: PageState = {
    ...emptyState,
    at: NOW,
    totals: { automation } as Totals,
    servers: new Map(servers.map((each) => [each.id, each])),
    triggers: new Map(triggers.map((each) => [each.name, each])),
  };
  const asked: AskedWork = {
    runs: { runs: [], next_before: null },
    failed: { runs: failed.map(run), next_before: null },
    approvals: { approvals: pending.map(approval), next_before: null },
    dead: { deliveries: dead.map(delivery), next_before: null },
  };
  return wrongThings(state, asked);
}
const told = (of: Made) =>
  made(of).flatMap(({ things, more }) => [
    ...things.map(({ name, state, reason }) => `${name} ${state}: ${reason}`),
    ...(more > 0 ? [`and ${more}`] : []),
  ]);

describe('what is wrong', () => {
  test('comes in one order, and says why (OVW2)', () => {
    const lines = told({
      servers: [
        server('good'),
        server('backs-off', { state: 'failed', last_error: EXITED, next_retry_at: iso(NOW + 3_000) }),
        server('parked', { state: 'failed', is_parked: true, next_retry_at: iso(NOW + 240_000) }),
      ],
      triggers: [
        trigger('held', { paused: true, state: 'paused' }),
        trigger('silent', {
          circuit: { state: 'open', since: iso(0), last_error: '503', next_retry_at: null },
        }),
        trigger('shut', { state: 'failed', last_error: 'the port is taken' }),
        trigger('fine'),
      ],
      ...{ failed: ['r1'], dead: ['r1', 'd1'], pending: ['a1'], deadInAll: 40 },
    });
    expect(lines).toEqual([
      'parked parked: it did not say why; after too many failures it is left alone for 4 min',
      'backs-off failed: it exited; it may start again in 3 s',
      'shut failed: the port is taken',
      'silent unreachable: its platform does not answer: 503',
      'held paused: what comes for it waits until it is resumed',
      'd1 dead: of orders: given up',
      // One of those that the store counts is the run below.
      'and 38',
      'agent of r1 failed: it did not say why',
      'title of a1 pending: asked 5 s ago',
    ]);
    expect(told({ servers: [server('good')], triggers: [trigger('fine')] })).toEqual([]);
    expect(told({ deadInAll: null })).toEqual([
      'the store unreachable: it does not answer, so nothing is known of deliveries and runs',
    ]);
  });

  test('is all there or counted as more, and what is in order never is (OVW1)', () => {
    const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,4}$/), { maxLength: 2 * MOST });
    const serverStates: Partial<ServerView>[] = [
      ...([{}, { state: 'failed' }, { state: 'failed', is_parked: true }, { state: 'idle' }] as const),
    ];
    const serverOf = (id: string, kind: number) => server(id, serverStates[kind]);
    const states: Partial<TriggerState>[] = [
      {},
      { state: 'failed' },
      { state: 'paused', paused: true },
      { paused: true },
    ];
    const triggerOf = (name: string, kind: number) => trigger(name, states[kind]);
    const kinds = fc.array(fc.nat(3), { minLength: 2 * MOST, maxLength: 2 * MOST });
    fc.assert(
      fc.property(names, names, names, names, kinds, (ids, triggerNames, dead, failed, kindOf) => {
        const servers = ids.map((id, index) => serverOf(id, kindOf[index] ?? 0));
        const triggers = triggerNames.map((name, index) => triggerOf(name, kindOf[index] ?? 0));
        const groups = made({ servers, triggers, dead, failed, pending: dead });
        const of = (word: string) => groups.find((group) => group.word === word);
        const keys = groups.flatMap(({ things }) => things.map(({ key }) => key));
        expect(new Set(keys).size).toBe(keys.length);
        const wrongServers = servers.filter(({ state }) => state === 'failed');
        const wrongTriggers = triggers.filter(({ state, paused }) => state === 'failed' || paused);
        for (const [word, wrong] of [
          ['server', wrongServers.map(({ id }) => id)],
          ['trigger', wrongTriggers.map(({ name }) => name)],
          ['dead delivery', dead.filter((id) => !failed.includes(id))],
        ] as const) {
          const { things = [], more = 0 } = of(word) ?? {};
          expect(things.length + more).toBe(wrong.length);
          for (const { name } of things) expect(wrong).toContain(name);
        }
        expect((of('failed run')?.things.length ?? 0) + (of('failed run')?.more ?? 0)).toBe(failed.length);
        const shown = of('approval');
        expect(shown === undefined).toBe(dead.length === 0);
        expect((shown?.things.length ?? 0) + (shown?.more ?? 0)).toBeGreaterThanOrEqual(dead.length);
        const order = ['server', 'trigger', 'dead delivery', 'failed run', 'approval'];
        const places = groups.map(({ word }) => order.indexOf(word));
        expect(places).toEqual([...places].sort());
      }),
    );
  });
});

describe('the filter over deliveries', () => {
  test('takes states and the name of a trigger, in any order, and is written in the address', () => {
    const names = ['orders', 'alerts', 'alarms'];
    expect(queryOf('', names)).toBe('');
    expect(queryOf(' Dead ', names)).toBe('state=dead');
    expect(queryOf('orders dead,held', names)).toBe('state=dead%2Cheld&trigger=orders');
    expect(queryOf('ord', names)).toBe('trigger=orders');
    expect(queryOf('al', names)).toBe('trigger=al');
    expect(textOf('state=dead%2Cheld&trigger=orders&before=7')).toBe('dead held orders');
    expect(`${askedBy('state=dead&before=7&sort=no&trigger=')}`).toBe('limit=50&state=dead&before=7');
    expect([queryFrom('state=dead', 7), queryFrom('state=dead&before=7', undefined)]).toEqual([
      'state=dead&before=7',
      'state=dead',
    ]);
  });

  test('comes back from what it wrote, whatever the trigger is called', () => {
    const name = fc
      .stringMatching(/^[a-z0-9-]{1,20}$/)
      .filter((text) => !deliveryStates.includes(text as never));
    fc.assert(
      fc.property(fc.subarray([...deliveryStates]), name, (states, trigger) => {
        const query = queryOf([...states, trigger].join(' '), [trigger]);
        expect(queryOf(textOf(query), [trigger])).toBe(query);
        const view = viewAt(pathOf(deliveriesView(query)));
        expect(view).toEqual(deliveriesView(query));
      }),
    );
  });
});

test('the address of a delivery is that of one, whatever its id, and leads back to it and its list', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (id) => {
      const view = viewAt(pathOf(deliveriesView('state=dead', id)));
      expect([deliveryAt(view.actor), sectionAt(view.actor), view.query]).toEqual([
        id,
        'deliveries',
        'state=dead',
      ]);
    }),
  );
  // A query means something where there is a list, or where there are tools.
  expect(viewAt('/inspector/view/files/log?state=dead')).toEqual({ actor: 'files', tab: 'log' });
});

test('the address of a tool is that of one, whatever its name, and of nothing else', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (name) => {
      const view = viewAt(pathOf(toolsView('files', name)));
      expect([view, toolIn(view)]).toEqual([toolsView('files', name), name]);
    }),
  );
  const other = '/inspector/view/files/tools?state=dead';
  expect([viewAt(other), toolIn(viewAt(other))]).toEqual([{ actor: 'files', tab: 'tools' }, undefined]);
});

test('one is one, and others are several', () => {
  expect([counted(0, 'run'), counted(1, 'run'), counted(2, 'run')]).toEqual(['0 runs', '1 run', '2 runs']);
  expect(counted(2, 'dead delivery', 'dead deliveries')).toBe('2 dead deliveries');
  expect([countedOf(1, 1, 'actor'), countedOf(0, 2, 'actor')]).toEqual(['1 of 1 actor', '0 of 2 actors']);
});
