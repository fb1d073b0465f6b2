// Problems in the overview: complete and in order. Also the filter of deliveries.

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
  deliveryStates,
  filterText,
  pageQuery,
  parseFilter,
  requestParams,
} from '../../../../src/inspector/page/deliveries/filter.ts';
import {
  emptyState,
  type PageState,
  type ServerView,
} from '../../../../src/inspector/page/feed/page-state.ts';
import { pluralize, pluralizeOf } from '../../../../src/inspector/page/format.ts';
import {
  findProblems,
  MAX_PROBLEMS,
  type PolledRecords,
} from '../../../../src/inspector/page/overview/problems.ts';
import type { AutomationTotals, Totals } from '../../../../src/inspector/wire/feed.ts';

const NOW = 1_000_000;
const iso = (epochMs: number) => new Date(epochMs).toISOString();

const server = (id: string, more: Partial<ServerView> = {}): ServerView => ({
  id,
  state: 'running',
  requests: 0,
  failed: 0,
  tool_errors: 0,
  in_flight: 0,
  waiting: 0,
  restarts: 0,
  at: NOW,
  uptime_seconds: 1,
  installing: null,
  latency_ms: { p50: null, p95: null, p99: null },
  next_retry_at: null,
  is_parked: false,
  last_error: null,
  ...more,
});
const trigger = (name: string, more: Partial<TriggerState> = {}): TriggerState => ({
  name,
  type: 'HTTP',
  state: 'open',
  paused: false,
  blocked_by: null,
  handled: 0,
  failed: 0,
  last_event_at: null,
  last_error: null,
  next_retry_at: null,
  connection: null,
  circuit: null,
  ...more,
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
  /** Number of dead deliveries in the store; null if the store does not respond. */
  readonly deadInAll?: number | null;
}

function overviewOf({ servers = [], triggers = [], failed = [], dead = [], pending = [], deadInAll }: Made) {
  const counts = { queued: 0, running: 0, retrying: 0, held: 0, waiting: 0 };
  const deliveries = deadInAll === null ? null : { ...counts, dead: deadInAll ?? dead.length };
  const automation: AutomationTotals = { deliveries, limits: {}, works: [] };
  const state: PageState = {
    ...emptyState,
    at: NOW,
    totals: { automation } as Totals,
    servers: new Map(servers.map((each) => [each.id, each])),
    triggers: new Map(triggers.map((each) => [each.name, each])),
  };
  const request: PolledRecords = {
    runs: { runs: [], next_before: null },
    failed: { runs: failed.map(run), next_before: null },
    approvals: { approvals: pending.map(approval), next_before: null },
    dead: { deliveries: dead.map(delivery), next_before: null },
  };
  return findProblems(state, request);
}
const textsOf = (of: Made) =>
  overviewOf(of).flatMap(({ problems, more }) => [
    ...problems.map(({ name, state, reason }) => `${name} ${state}: ${reason}`),
    ...(more > 0 ? [`and ${more}`] : []),
  ]);

describe('the list of problems', () => {
  test('is ordered and contains the reasons', () => {
    const lines = textsOf({
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
      failed: ['r1'],
      dead: ['r1', 'd1'],
      pending: ['a1'],
      deadInAll: 40,
    });
    expect(lines).toEqual([
      'title of a1 pending: requested 5 s ago',
      'parked parked: no error message; parked for 4 min after too many failures',
      'backs-off failed: it exited; next restart in 3 s',
      'shut failed: the port is taken',
      'silent unreachable: no response from the platform: 503',
      'held paused: new events wait until it is resumed',
      'd1 dead: trigger orders: no more attempts',
      // One dead delivery is listed as a failed run.
      'and 38',
      'agent of r1 failed: no error message',
    ]);
    expect(textsOf({ servers: [server('good')], triggers: [trigger('fine')] })).toEqual([]);
    expect(textsOf({ deadInAll: null })).toEqual([
      'store unreachable: no response; deliveries and runs are unknown',
    ]);
  });

  test('contains each problem or counts it as omitted, and contains nothing else', () => {
    const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,4}$/), { maxLength: 2 * MAX_PROBLEMS });
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
    const kinds = fc.array(fc.nat(3), { minLength: 2 * MAX_PROBLEMS, maxLength: 2 * MAX_PROBLEMS });
    fc.assert(
      fc.property(names, names, names, names, kinds, (ids, triggerNames, dead, failed, kindOf) => {
        const servers = ids.map((id, index) => serverOf(id, kindOf[index] ?? 0));
        const triggers = triggerNames.map((name, index) => triggerOf(name, kindOf[index] ?? 0));
        const groups = overviewOf({ servers, triggers, dead, failed, pending: dead });
        const of = (title: string) => groups.find((group) => group.singular === title);
        const keys = groups.flatMap(({ problems }) => problems.map(({ key }) => key));
        expect(new Set(keys).size).toBe(keys.length);
        const serverProblems = servers.filter(({ state }) => state === 'failed');
        const triggerProblems = triggers.filter(({ state, paused }) => state === 'failed' || paused);
        for (const [title, wrong] of [
          ['server', serverProblems.map(({ id }) => id)],
          ['trigger', triggerProblems.map(({ name }) => name)],
          ['dead delivery', dead.filter((id) => !failed.includes(id))],
        ] as const) {
          const { problems = [], more = 0 } = of(title) ?? {};
          expect(problems.length + more).toBe(wrong.length);
          for (const { name } of problems) expect(wrong).toContain(name);
        }
        expect((of('failed run')?.problems.length ?? 0) + (of('failed run')?.more ?? 0)).toBe(failed.length);
        const approvalGroup = of('approval');
        expect(approvalGroup === undefined).toBe(dead.length === 0);
        expect((approvalGroup?.problems.length ?? 0) + (approvalGroup?.more ?? 0)).toBeGreaterThanOrEqual(
          dead.length,
        );
        const order = ['approval', 'server', 'trigger', 'dead delivery', 'failed run'];
        const places = groups.map(({ singular }) => order.indexOf(singular));
        expect(places).toEqual([...places].sort());
      }),
    );
  });
});

describe('the filter of the deliveries', () => {
  test('accepts states and the name of a trigger in any order, and is part of the address', () => {
    const names = ['orders', 'alerts', 'alarms'];
    expect(parseFilter('', names)).toBe('');
    expect(parseFilter(' Dead ', names)).toBe('state=dead');
    expect(parseFilter('orders dead,held', names)).toBe('state=dead%2Cheld&trigger=orders');
    expect(parseFilter('ord', names)).toBe('trigger=orders');
    expect(parseFilter('al', names)).toBe('trigger=al');
    expect(filterText('state=dead%2Cheld&trigger=orders&before=7')).toBe('dead held orders');
    expect(`${requestParams('state=dead&before=7&sort=no&trigger=')}`).toBe('limit=50&state=dead&before=7');
    expect([pageQuery('state=dead', 7), pageQuery('state=dead&before=7', undefined)]).toEqual([
      'state=dead&before=7',
      'state=dead',
    ]);
  });

  test('is restored from its own text, for any trigger name', () => {
    const name = fc
      .stringMatching(/^[a-z0-9-]{1,20}$/)
      .filter((text) => !deliveryStates.includes(text as never));
    fc.assert(
      fc.property(fc.subarray([...deliveryStates]), name, (states, trigger) => {
        const query = parseFilter([...states, trigger].join(' '), [trigger]);
        expect(parseFilter(filterText(query), [trigger])).toBe(query);
        const view = viewAt(pathOf(deliveriesView(query)));
        expect(view).toEqual(deliveriesView(query));
      }),
    );
  });
});

test('the address of a delivery is unique for any id, and leads back to it and its list', () => {
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
  // Only views with lists or tools have a query.
  expect(viewAt('/inspector/view/files/log?state=dead')).toEqual({ actor: 'files', tab: 'log' });
});

test('the address of a tool is unique for any name', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (name) => {
      const view = viewAt(pathOf(toolsView('files', name)));
      expect([view, toolIn(view)]).toEqual([toolsView('files', name), name]);
    }),
  );
  const other = '/inspector/view/files/tools?state=dead';
  expect([viewAt(other), toolIn(viewAt(other))]).toEqual([{ actor: 'files', tab: 'tools' }, undefined]);
});

test('pluralize uses the singular for one', () => {
  expect([pluralize(0, 'run'), pluralize(1, 'run'), pluralize(2, 'run')]).toEqual([
    '0 runs',
    '1 run',
    '2 runs',
  ]);
  expect(pluralize(2, 'dead delivery', 'dead deliveries')).toBe('2 dead deliveries');
  expect([pluralizeOf(1, 1, 'actor'), pluralizeOf(0, 2, 'actor')]).toEqual(['1 of 1 actor', '0 of 2 actors']);
});
