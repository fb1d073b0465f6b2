// Flows of random graphs with random node results, run in random order with crashes: each node has the same
// outcome as in a simple interpreter, which knows neither rows nor an order.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FlowState } from '../../../../machines/flow-run/flow-state.ts';
import {
  type FlowGraph,
  type GraphNode,
  type JoinStrategy,
  nodePath,
} from '../../../../machines/flow-run/graph.ts';
import type { FlowRow } from '../../../../machines/flow-run/rows.ts';
import { runs } from '../../../fixtures/property-runs.ts';

interface DrawnNode {
  readonly node: GraphNode;
  readonly isGood: boolean;
  /** Number of failures or waits before the final result. */
  readonly pauses: number;
  readonly turns: number;
  readonly inside: DrawnGraph | undefined;
}

interface DrawnGraph {
  readonly graph: FlowGraph;
  readonly nodes: readonly DrawnNode[];
  /** Taken connections by node, in order. */
  readonly taken: ReadonlyMap<string, readonly number[]>;
}

const joins: readonly JoinStrategy[] = ['all', 'all', 'any', 'majority'];

const arbGraph = (depth: number): fc.Arbitrary<DrawnGraph> =>
  fc
    .array(
      fc.record({
        isGood: fc.integer({ min: 0, max: 5 }).map((n) => n > 0),
        join: fc.constantFrom(...joins),
        onError: fc.option(fc.nat(7), { nil: undefined }),
        pauses: fc.integer({ min: 0, max: 2 }),
        turns: fc.integer({ min: 0, max: 3 }),
        inside:
          depth > 0 ? fc.option(arbGraph(depth - 1), { freq: 3, nil: undefined }) : fc.constant(undefined),
        to: fc.array(fc.record({ by: fc.integer({ min: 1, max: 4 }), isTaken: fc.boolean() }), {
          maxLength: 3,
        }),
      }),
      { minLength: 1, maxLength: 8 },
    )
    .map((drawn) => {
      const last = drawn.length - 1;
      const connections: { from: string; to: string }[] = [];
      const takenEdges = new Map<string, number[]>();
      const nodes = drawn.map(({ isGood, join, onError, pauses, turns, inside, to }, at): DrawnNode => {
        const id = `n${at}`;
        const indexes: number[] = [];
        let index = 0;
        for (const { by, isTaken } of to) {
          if (at + by > last) continue;
          connections.push({ from: id, to: `n${at + by}` });
          if (isTaken) indexes.push(index);
          index += 1;
        }
        takenEdges.set(id, indexes);
        const catches =
          onError !== undefined && at + 1 + onError <= last ? `n${at + 1 + onError}` : undefined;
        const node = { id, join, onError: catches, inside: inside?.graph };
        return { node, isGood, pauses, turns, inside };
      });
      return { graph: { nodes: nodes.map(({ node }) => node), connections }, nodes, taken: takenEdges };
    });

type Fate = 'done' | 'failed' | 'skipped';

/** Outcome of each node without an early stop, in file order, because no connection leads back. */
function expectedOutcomes({ graph, nodes, taken: takenEdges }: DrawnGraph): ReadonlyMap<string, Fate> {
  const states = new Map<string, Fate>();
  for (const { node, isGood, turns, inside } of nodes) {
    const into = nodes.flatMap(({ node: from }) => {
      const own = graph.connections.filter((each) => each.from === from.id);
      const fate = states.get(from.id);
      const plain = own.flatMap(({ to }, index) =>
        to === node.id ? [fate === 'done' && takenEdges.get(from.id)?.includes(index) === true] : [],
      );
      return from.onError === node.id ? [...plain, fate === 'failed'] : plain;
    });
    const count = into.filter((isTaken) => isTaken).length;
    const required = node.join === 'majority' ? Math.floor(into.length / 2) + 1 : 1;
    const runs = into.length === 0 || count >= required;
    const isBroken = inside !== undefined && turns > 0 && breaks(inside);
    states.set(node.id, !runs ? 'skipped' : (inside === undefined ? isGood : !isBroken) ? 'done' : 'failed');
  }
  return states;
}

function breaks(drawn: DrawnGraph): boolean {
  const states = expectedOutcomes(drawn);
  return drawn.nodes.some(({ node }) => states.get(node.id) === 'failed' && node.onError === undefined);
}

function drawnAt(drawn: DrawnGraph, path: string): { readonly drawn: DrawnNode; readonly in: DrawnGraph } {
  const { turns, id } = nodePath(path) ?? { turns: [], id: '' };
  let graph = drawn;
  for (const { loop } of turns) graph = graph.nodes.find(({ node }) => node.id === loop)?.inside ?? graph;
  return { drawn: graph.nodes.find(({ node }) => node.id === id) as DrawnNode, in: graph };
}

/** Runs a flow; `pick` chooses among possible events. */
function runGraph(drawn: DrawnGraph, pick: (count: number) => number) {
  const rows: FlowRow[] = [];
  let state = new FlowState(drawn.graph);
  const paused = new Map<string, number>();
  const add = (row: FlowRow) => {
    rows.push(row);
    state.apply(row);
  };
  for (let round = 0; ; round += 1) {
    expect(round).toBeLessThan(20_000);
    const next = state.next();
    if (pick(8) === 0) {
      // The process crashes. The state is rebuilt from the journal.
      state = new FlowState(drawn.graph);
      for (const row of rows) state.apply(row);
      expect(state.next()).toEqual(next);
    }
    if (next.end !== undefined) return { rows, state, end: next.end };
    if (next.rows.length > 0) {
      next.rows.forEach(add);
      continue;
    }
    const may: (() => void)[] = [];
    for (const path of next.starts) may.push(() => add({ kind: 'entered', in: path }));
    for (const { path, n } of next.turns) {
      const { drawn: loop, in: graph } = drawnAt(drawn, path);
      const takenEdges = graph.taken.get(loop.node.id) ?? [];
      may.push(() =>
        add(
          n <= loop.turns
            ? { kind: 'turn', in: path, n }
            : { kind: 'left', in: path, output: n - 1, taken: takenEdges },
        ),
      );
    }
    for (const path of state.working) {
      const { drawn: node, in: graph } = drawnAt(drawn, path);
      if (node.inside !== undefined) continue;
      const before = paused.get(path) ?? 0;
      const isWaiting = state.stateOf(path)?.state === 'waiting';
      if (isWaiting) may.push(() => add({ kind: 'entered', in: path }));
      else if (before < node.pauses)
        may.push(() => {
          paused.set(path, before + 1);
          add({ kind: 'again', in: path, reason: 'not yet', until: 0 });
        });
      else if (node.isGood)
        may.push(() =>
          add({ kind: 'left', in: path, output: path, taken: graph.taken.get(node.node.id) ?? [] }),
        );
      else may.push(() => add({ kind: 'failed', in: path, reason: 'bad' }));
    }
    // A step is possible until the flow is complete.
    expect(may.length).toBeGreaterThan(0);
    may[pick(may.length)]?.();
  }
}

it('each node of a flow has the same outcome as in a simple interpreter, for any order and any number of crashes', () => {
  fc.assert(
    fc.property(arbGraph(2), fc.infiniteStream(fc.nat(1_000_000)), (drawn, choices) => {
      const pick = (count: number) => (choices.next().value ?? 0) % count;
      const { rows, state, end } = runGraph(drawn, pick);
      if (
        end.how === 'failed' &&
        rows.filter(({ kind }) => kind === 'entered' || kind === 'turn').length >= 1_000
      )
        return;
      expect(end.how).toBe(breaks(drawn) ? 'failed' : 'done');
      const states = expectedOutcomes(drawn);
      for (const { node } of drawn.nodes) {
        const { state: is } = state.stateOf(node.id) ?? {};
        const isCut = end.how === 'failed' && (is === 'idle' || is === 'working' || is === 'waiting');
        if (!isCut) expect([node.id, is]).toEqual([node.id, states.get(node.id)]);
      }
      const entered = rows.filter(({ kind }) => kind === 'entered').map((row) => row.in);
      for (const path of new Set(entered)) {
        const pauses = rows.filter((row) => row.in === path && row.kind === 'again').length;
        expect(entered.filter((each) => each === path).length).toBeLessThanOrEqual(pauses + 1);
      }
    }),
    { numRuns: runs(80) },
  );
});
