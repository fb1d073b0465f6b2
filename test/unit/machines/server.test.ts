// The server machine: chart as text (changes are visible in a diff), and all simple paths with a well-behaved
// pool.
// Invariant A7 is in ARCHITECTURE.md.

import { describe, expect, test } from 'vitest';
import { type AnyMachineSnapshot, fromCallback, initialTransition, transition } from 'xstate';
import { type DirectedGraphNode, getShortestPaths, getSimplePaths, toDirectedGraph } from 'xstate/graph';
import { type ServerEvent, serverMachine, serverState } from '../../../machines/server.ts';
import { ServerBench } from '../../fixtures/server/server-bench.ts';

const input = { key: 'k', generation: 1 };
const error = new Error('e');
const events: ServerEvent[] = [
  { type: 'start' },
  { type: 'demand' },
  { type: 'due' },
  { type: 'park', until: 1 },
  { type: 'stop' },
  { type: 'shutdown' },
  { type: 'pool.ready' },
  { type: 'pool.lost', error },
  { type: 'pool.drained' },
  { type: 'used' },
  { type: 'quiet', span: 'half' },
  { type: 'quiet', span: 'whole' },
];

const machine = serverMachine.provide({ actors: { pool: fromCallback(() => {}) } });

/**
 * States are equal if the value and the two facts that determine later states are equal; actor ids are
 * ignored.
 */
const options = {
  input,
  events,
  serializeState: (snapshot: AnyMachineSnapshot) =>
    JSON.stringify([snapshot.value, snapshot.context.isWanted, snapshot.context.isEnding]),
};

const nameOf = (snapshot: AnyMachineSnapshot) =>
  typeof snapshot.value === 'string'
    ? snapshot.value
    : Object.entries(snapshot.value).join().replace(',', '.');

function lines(node: DirectedGraphNode): string[] {
  const own = node.edges.map(({ source, target, label, transition }) => {
    const { guard } = transition;
    const when = guard === undefined ? '' : ` [${typeof guard === 'string' ? guard : 'guard'}]`;
    return `${source.id} -- ${label.text}${when} --> ${target.id}`;
  });
  return [...own, ...node.children.flatMap(lines)];
}

describe('the state chart of a server', () => {
  test('has exactly the transitions of the snapshot', () => {
    expect(lines(toDirectedGraph(machine)).join('\n')).toMatchInlineSnapshot(`
      "server.stopped -- start --> server.starting
      server.stopped -- demand --> server.starting
      server.stopped -- shutdown --> server.ended
      server.starting -- pool.ready --> server.running
      server.starting -- pool.lost --> server.failed
      server.starting -- stop --> server.stopping
      server.starting -- shutdown --> server.stopping
      server.running -- quiet [isHalf] --> server.idle
      server.running -- quiet [isWhole] --> server.stopping
      server.running -- pool.lost --> server.failed
      server.running -- stop --> server.stopping
      server.running -- shutdown --> server.stopping
      server.idle -- used --> server.running
      server.idle -- quiet [isWhole] --> server.stopping
      server.idle -- pool.lost --> server.failed
      server.idle -- stop --> server.stopping
      server.idle -- shutdown --> server.stopping
      server.stopping -- pool.drained [isEnding] --> server.ended
      server.stopping -- pool.drained [isWanted] --> server.starting
      server.stopping -- pool.drained --> server.stopped
      server.stopping -- start --> server.stopping
      server.stopping -- stop --> server.stopping
      server.stopping -- shutdown --> server.stopping
      server.failed -- start --> server.starting
      server.failed -- stop --> server.stopped
      server.failed -- shutdown --> server.ended
      server.failed.backingOff -- due --> server.failed.ready
      server.failed.backingOff -- park --> server.failed.parked
      server.failed.ready -- demand --> server.starting"
    `);
  });

  test('has no unreachable state, and the end is reachable from each state', () => {
    const paths = getShortestPaths(machine, options);
    const reachedStates = new Set(paths.map(({ state }) => nameOf(state)));
    expect([...reachedStates].sort()).toEqual([
      'ended',
      'failed.backingOff',
      'failed.parked',
      'failed.ready',
      'idle',
      'running',
      'starting',
      'stopped',
      'stopping',
    ]);
    for (const { state } of paths) {
      const onward = getShortestPaths(machine, { ...options, fromState: state as never });
      expect(
        onward.map((path) => nameOf(path.state)),
        nameOf(state),
      ).toContain('ended');
    }
  });

  test('maps every state to one of the six published states', () => {
    for (const { state } of getShortestPaths(machine, options)) {
      const [word] = nameOf(state).split('.');
      expect(serverState(state.value)).toBe(word === 'ended' ? 'stopped' : word);
    }
  });
});

test('the gate and the connection pool of a server match its state along every path of transitions', () => {
  const paths = getSimplePaths(machine, options);
  expect(paths.length).toBeGreaterThan(50);
  for (const { state, steps } of paths) {
    const bench = new ServerBench();
    for (const { event } of steps) {
      if ((event.type as string) === 'xstate.init') continue;
      bench.send(event as ServerEvent);
      bench.check();
    }
    expect(nameOf(bench.snapshot)).toBe(nameOf(state));
    bench.end();
  }
});

describe('the life of a server', () => {
  test('with one call: started on demand, idle, used, idle, stopped', () => {
    const bench = new ServerBench();
    const eventsTo = (
      [
        { type: 'demand' },
        { type: 'pool.ready' },
        { type: 'quiet', span: 'half' },
        { type: 'used' },
        { type: 'quiet', span: 'half' },
        { type: 'quiet', span: 'whole' },
        { type: 'pool.drained' },
      ] as ServerEvent[]
    ).map((event) => {
      bench.send(event);
      bench.check();
      return serverState(bench.snapshot.value);
    });
    expect(eventsTo).toEqual(['starting', 'running', 'idle', 'running', 'idle', 'stopping', 'stopped']);
    expect(bench.pools).toEqual({ begun: 1, ended: 1 });
  });

  test('restarts with a new pool if it is started while stopping', () => {
    const bench = new ServerBench();
    for (const type of ['start', 'pool.ready', 'stop', 'start'] as const) bench.send({ type });
    expect(bench.snapshot.value).toBe('stopping');
    expect(bench.pools).toEqual({ begun: 1, ended: 0 });
    bench.send({ type: 'pool.drained' });
    expect(bench.snapshot.value).toBe('starting');
    expect(bench.pools).toEqual({ begun: 2, ended: 1 });
    bench.check();
  });

  test('contains no restart after stopping if it is stopped again, and ends with a shutdown', () => {
    const bench = new ServerBench();
    for (const type of ['start', 'pool.ready', 'stop', 'start', 'stop', 'pool.drained'] as const)
      bench.send({ type });
    expect(bench.snapshot.value).toBe('stopped');
    for (const type of ['start', 'stop', 'shutdown', 'start', 'pool.drained'] as const) bench.send({ type });
    expect(bench.snapshot.status).toBe('done');
    bench.check();
  });

  test('reports a failure once, and only the supervisor ends the pause', () => {
    const bench = new ServerBench();
    for (const type of ['demand', 'pool.ready'] as const) bench.send({ type });
    bench.send({ type: 'pool.lost', error });
    expect(bench.reported).toEqual([error]);
    for (const type of ['demand', 'used', 'pool.ready', 'pool.drained'] as const) bench.send({ type });
    bench.send({ type: 'pool.lost', error: new Error('late') });
    expect(nameOf(bench.snapshot)).toBe('failed.backingOff');
    expect(bench.reported).toEqual([error]);
    bench.send({ type: 'due' });
    expect(nameOf(bench.snapshot)).toBe('failed.ready');
    expect(bench.demandChecks.at(-1)).toBe(true);
    bench.send({ type: 'demand' });
    expect(bench.snapshot.value).toBe('starting');
  });

  test('reports to waiting callers until when it is parked, and ignores demand while parked', () => {
    const bench = new ServerBench();
    bench.send({ type: 'demand' });
    bench.send({ type: 'pool.lost', error });
    bench.send({ type: 'park', until: 4711 });
    expect(bench.refusedUntil).toEqual([4711]);
    bench.send({ type: 'demand' });
    bench.send({ type: 'due' });
    expect(nameOf(bench.snapshot)).toBe('failed.parked');
    bench.send({ type: 'start' });
    expect(bench.snapshot.value).toBe('starting');
    bench.check();
  });
});

test('the server machine is deterministic: the same snapshot and event give the same result, and snapshots are immutable (A7)', () => {
  for (const { state } of getShortestPaths(machine, options)) {
    const before = JSON.stringify([state.value, state.context, state.status]);
    for (const event of events) {
      const results = [1, 2].map(() => {
        const [next, actions] = transition(machine, state as never, event);
        const { value, context, status } = next as AnyMachineSnapshot;
        return JSON.stringify([value, context, status, actions.map(({ type }) => type)]);
      });
      expect(results[0]).toBe(results[1]);
    }
    expect(JSON.stringify([state.value, state.context, state.status])).toBe(before);
  }
  const [first] = initialTransition(machine, input);
  expect(first.value).toBe('stopped');
});
