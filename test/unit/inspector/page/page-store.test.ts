// Page state after feed messages, without browsers.

import { describe, expect, test } from 'vitest';
import type { TriggerState } from '../../../../src/http/api/trigger-shapes.ts';
import {
  emptyState,
  type FeedMessage,
  MAX_LOG,
  type PageState,
  reduce,
} from '../../../../src/inspector/page/feed/page-state.ts';
import type {
  ActorFrame,
  ActorNode,
  MachineStep,
  NumbersMessage,
  ServerNumbers,
} from '../../../../src/inspector/wire/feed.ts';

const root: ActorNode = { id: 'x:0', parent: null, name: 'gateway', machine: 'gateway', state: 'serving' };
const files: ActorNode = { id: 'x:1', parent: 'x:0', name: 'files#1', machine: 'server', state: 'stopped' };
let count = 0;
const step = (event: string, state: MachineStep['state'], source: string | null = null): MachineStep => ({
  n: count++,
  event,
  source,
  state,
  at: 1_000 + count,
});
const tree = (more: object = {}): FeedMessage => ({
  kind: 'tree',
  data: { at: 1_000, actors: [root, files], recent: [], dropped: 0, missed: 0, started_at: 1, ...more },
});
const frame = (actors: ActorFrame[], dropped = 0): FeedMessage => ({
  kind: 'frame',
  data: { at: 2_000, actors, dropped },
});
const of = (
  node: ActorNode,
  state: ActorNode['state'],
  steps: MachineStep[],
  isGone = false,
): ActorFrame => ({
  ...node,
  state,
  steps,
  isGone,
});
const stateAfter = (...messages: FeedMessage[]): PageState => messages.reduce(reduce, emptyState);

const server: ServerNumbers = {
  id: 'files',
  state: 'running',
  requests: 1,
  failed: 0,
  tool_errors: 0,
  in_flight: 0,
  waiting: 0,
  restarts: 0,
  uptime_seconds: 5,
  installing: null,
  latency_ms: { p50: 1, p95: 2, p99: 3 },
  next_retry_at: null,
  is_parked: false,
  last_error: null,
};
const numbers = (more: Partial<NumbersMessage> = {}): FeedMessage => ({
  kind: 'numbers',
  data: {
    at: 3_000,
    version: '1',
    started_at: 1,
    is_draining: false,
    alarms: [],
    commands: false,
    requests: { total: 1, failed: 0, tool_errors: 0, in_flight: 0 },
    sessions: 0,
    listens: 0,
    dead_letters: 0,
    viewers: 1,
    servers: [server],
    gone: [],
    automation: null,
    cluster: null,
    triggers: [],
    gone_triggers: [],
    ...more,
  },
});

describe('the state of the page', () => {
  test('follows the steps of an actor and records the last step', () => {
    const steps = [step('demand', 'starting'), step('pool.ready', 'running', 'x:9')];
    const { actors, log } = stateAfter(tree(), frame([of(files, 'running', steps)]));
    expect(actors.get('x:1')).toMatchObject({
      state: 'running',
      last: { event: 'pool.ready', from: 'starting', to: 'running' },
    });
    expect(log.map(({ event, name, sourceName }) => [event, name, sourceName])).toEqual([
      ['demand', 'files#1', null],
      ['pool.ready', 'files#1', 'x:9'],
    ]);
  });

  test('contains the sender of a log entry by name, even if the sender ends in the same update', () => {
    const pool: ActorNode = { id: 'x:2', parent: 'x:1', name: 'pool', machine: null, state: 'stopped' };
    const { actors, log } = stateAfter(
      tree(),
      frame([of(files, 'failed', [step('pool.lost', 'failed', 'x:2')]), of(pool, 'stopped', [], true)]),
    );
    expect(log[0]?.sourceName).toBe('pool');
    expect(actors.has('x:2')).toBe(false);
  });

  test('is reset when the gateway was restarted, because ids are reused', () => {
    const before = stateAfter(tree(), frame([of(files, 'running', [step('demand', 'running')])]), numbers());
    const anew = reduce(before, tree({ started_at: 2, actors: [root] }));
    expect([anew.actors.size, anew.log.length, anew.servers.size, anew.gatewayRestarts]).toEqual([
      1, 0, 0, 1,
    ]);
  });

  test('keeps its log over a reconnection, and adds only new entries', () => {
    const first = step('demand', 'starting');
    const second = step('pool.ready', 'running');
    const before = stateAfter(tree(), frame([of(files, 'starting', [first])]));
    const recent = [first, second].map((each) => ({
      ...each,
      actor: 'x:1',
      name: 'files#1',
      machine: 'server',
    }));
    const again = reduce(before, tree({ recent }));
    expect(again.log.map(({ event }) => event)).toEqual(['demand', 'pool.ready']);
    expect(new Set(again.log.map(({ n }) => n)).size).toBe(2);
  });

  test('has a bounded log, and earlier states are not modified', () => {
    const early = stateAfter(tree(), frame([of(files, 'running', [step('a', null)])]));
    let state = early;
    for (let round = 0; round < 1_000; round += 1)
      state = reduce(
        state,
        frame([of(files, 'running', [step('b', null), step('c', null), step('d', null)])]),
      );
    expect(state.log).toHaveLength(MAX_LOG);
    expect(state.loggedCount).toBe(3_001);
    expect(early.log.map(({ event }) => event)).toEqual(['a']);
  });

  test('keeps the figures of a server that an update omits, and drops the figures of a removed server', () => {
    const quiet = stateAfter(tree(), numbers(), numbers({ at: 4_000, servers: [] }));
    expect(quiet.servers.get('files')).toMatchObject({ requests: 1, at: 3_000 });
    expect(reduce(quiet, numbers({ servers: [], gone: ['files'] })).servers.size).toBe(0);
  });

  test('keeps the figures of a trigger that an update omits, and drops the figures of a removed trigger', () => {
    const trigger: TriggerState = {
      name: 'orders',
      type: 'HTTP',
      state: 'open',
      paused: false,
      blocked_by: null,
      handled: 3,
      failed: 0,
      last_event_at: null,
      last_error: null,
      next_retry_at: null,
      connection: null,
      circuit: null,
    };
    const quiet = stateAfter(tree(), numbers({ triggers: [trigger] }), numbers());
    expect(quiet.triggers.get('orders')).toEqual(trigger);
    expect(reduce(quiet, numbers()).triggers).toBe(quiet.triggers);
    expect(reduce(quiet, numbers({ gone_triggers: ['orders'] })).triggers.size).toBe(0);
  });
});
