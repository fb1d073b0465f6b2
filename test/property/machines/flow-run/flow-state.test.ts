// Flows of random graphs with random results of the nodes. A run executes possible events in random order,
// with crashes after which the state is rebuilt from the rows of the journal (the stored events of the run).
// Each node has the same outcome as in a simple interpreter, which knows neither rows nor an order.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FlowState, MAX_STEPS } from '../../../../machines/flow-run/flow-state.ts';
import {
  type FlowGraph,
  type GraphNode,
  type JoinStrategy,
  nodePath,
} from '../../../../machines/flow-run/graph.ts';
import type { FlowRow } from '../../../../machines/flow-run/rows.ts';
import { runs } from '../../../fixtures/property-runs.ts';

/** A node with the result that it will have. */
interface ScriptedNode {
  readonly node: GraphNode;
  /** True if the node succeeds. */
  readonly isGood: boolean;
  /** Number of failures or waits before the final result. */
  readonly pauses: number;
  /** Loop iterations. */
  readonly turns: number;
  /** Graph inside a loop; undefined outside loops. */
  readonly inside: ScriptedGraph | undefined;
}

interface ScriptedGraph {
  readonly graph: FlowGraph;
  readonly nodes: readonly ScriptedNode[];
  /** Taken connections by node: indexes in the list of the node's connections. */
  readonly taken: ReadonlyMap<string, readonly number[]>;
}

const joins: readonly JoinStrategy[] = ['all', 'all', 'any', 'majority'];

/** A graph with loops up to this depth. Connections lead only to later nodes. */
const anyGraph = (depth: number): fc.Arbitrary<ScriptedGraph> =>
  fc
    .array(
      fc.record({
        isGood: fc.integer({ min: 0, max: 5 }).map((n) => n > 0),
        join: fc.constantFrom(...joins),
        /** Distance to the node that handles the error, minus 1. */
        onError: fc.option(fc.nat(7), { nil: undefined }),
        pauses: fc.integer({ min: 0, max: 2 }),
        turns: fc.integer({ min: 0, max: 3 }),
        inside:
          depth > 0 ? fc.option(anyGraph(depth - 1), { freq: 3, nil: undefined }) : fc.constant(undefined),
        /** Connections, with the distance to the later node. */
        to: fc.array(fc.record({ distance: fc.integer({ min: 1, max: 4 }), isTaken: fc.boolean() }), {
          maxLength: 3,
        }),
      }),
      { minLength: 1, maxLength: 8 },
    )
    .map((drafts) => {
      const last = drafts.length - 1;
      const connections: { from: string; to: string }[] = [];
      const taken = new Map<string, number[]>();
      const nodes = drafts.map(({ join, onError, inside, to, ...script }, at): ScriptedNode => {
        const id = `n${at}`;
        const takenIndexes: number[] = [];
        let index = 0;
        for (const { distance, isTaken } of to) {
          if (at + distance > last) continue;
          connections.push({ from: id, to: `n${at + distance}` });
          if (isTaken) takenIndexes.push(index);
          index += 1;
        }
        taken.set(id, takenIndexes);
        const errorHandler =
          onError !== undefined && at + 1 + onError <= last ? `n${at + 1 + onError}` : undefined;
        const node = { id, join, onError: errorHandler, inside: inside?.graph };
        return { node, inside, ...script };
      });
      return { graph: { nodes: nodes.map(({ node }) => node), connections }, nodes, taken };
    });

type Outcome = 'done' | 'failed' | 'skipped';

/**
 * Returns the outcome of each node, if no failure stops the flow early. Visits the nodes in the order of the
 * list, because connections lead only to later nodes.
 */
function expectedOutcomes({ graph, nodes, taken }: ScriptedGraph): ReadonlyMap<string, Outcome> {
  const outcomes = new Map<string, Outcome>();
  for (const { node, isGood, turns, inside } of nodes) {
    /** For every incoming connection, true if it is taken. */
    const incoming = nodes.flatMap(({ node: from }) => {
      const outgoing = graph.connections.filter((each) => each.from === from.id);
      const outcome = outcomes.get(from.id);
      const toNode = outgoing.flatMap(({ to }, index) =>
        to === node.id ? [outcome === 'done' && taken.get(from.id)?.includes(index) === true] : [],
      );
      return from.onError === node.id ? [...toNode, outcome === 'failed'] : toNode;
    });
    const takenCount = incoming.filter((isTaken) => isTaken).length;
    // The join `all` waits until each connection is decided. Then a single taken connection is enough.
    const required = node.join === 'majority' ? Math.floor(incoming.length / 2) + 1 : 1;
    if (incoming.length > 0 && takenCount < required) outcomes.set(node.id, 'skipped');
    else {
      const succeeds = inside === undefined ? isGood : turns === 0 || !fails(inside);
      outcomes.set(node.id, succeeds ? 'done' : 'failed');
    }
  }
  return outcomes;
}

/** Returns true if a node of the graph fails and has no error handler. */
function fails(scripted: ScriptedGraph): boolean {
  const outcomes = expectedOutcomes(scripted);
  return scripted.nodes.some(({ node }) => outcomes.get(node.id) === 'failed' && node.onError === undefined);
}

/** Returns the node at the path, such as `poll#3/check`, and the graph that contains it. */
function nodeAt(
  scripted: ScriptedGraph,
  path: string,
): { readonly found: ScriptedNode; readonly graph: ScriptedGraph } {
  const { turns, id } = nodePath(path) ?? { turns: [], id: '' };
  let graph = scripted;
  for (const { loop } of turns) graph = graph.nodes.find(({ node }) => node.id === loop)?.inside ?? graph;
  return { found: graph.nodes.find(({ node }) => node.id === id) as ScriptedNode, graph };
}

/** Runs a flow. `pick` returns the random index of a possible event. */
function runGraph(scripted: ScriptedGraph, pick: (count: number) => number) {
  const rows: FlowRow[] = [];
  let state = new FlowState(scripted.graph);
  /** Number of pauses so far, by path. */
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
      state = new FlowState(scripted.graph);
      for (const row of rows) state.apply(row);
      expect(state.next()).toEqual(next);
    }
    if (next.end !== undefined) return { rows, state, end: next.end };
    if (next.rows.length > 0) {
      next.rows.forEach(add);
      continue;
    }
    const possibleRows: FlowRow[] = next.starts.map((path) => ({ kind: 'entered', in: path }));
    for (const { path, n } of next.turns) {
      const { found: loop, graph } = nodeAt(scripted, path);
      const taken = graph.taken.get(loop.node.id) ?? [];
      possibleRows.push(
        n <= loop.turns ? { kind: 'turn', in: path, n } : { kind: 'left', in: path, output: n - 1, taken },
      );
    }
    for (const path of state.working) {
      const { found: node, graph } = nodeAt(scripted, path);
      if (node.inside !== undefined) continue;
      const taken = graph.taken.get(node.node.id) ?? [];
      if (state.stateOf(path)?.state === 'waiting') possibleRows.push({ kind: 'entered', in: path });
      else if ((paused.get(path) ?? 0) < node.pauses)
        possibleRows.push({ kind: 'again', in: path, reason: 'not yet', until: 0 });
      else if (node.isGood) possibleRows.push({ kind: 'left', in: path, output: path, taken });
      else possibleRows.push({ kind: 'failed', in: path, reason: 'bad' });
    }
    // At least one row is possible while the flow is not complete.
    const row = possibleRows[pick(possibleRows.length)];
    if (row === undefined) throw new Error('no row is possible');
    if (row.kind === 'again') paused.set(row.in, (paused.get(row.in) ?? 0) + 1);
    add(row);
  }
}

it('each node of a flow has the same outcome as in a simple interpreter, for any order and any number of crashes', () => {
  fc.assert(
    fc.property(anyGraph(2), fc.infiniteStream(fc.nat(1_000_000)), (scripted, choices) => {
      const pick = (count: number) => (choices.next().value ?? 0) % count;
      const { rows, state, end } = runGraph(scripted, pick);
      // A flow with too many steps fails.
      const stepCount = rows.filter(({ kind }) => kind === 'entered' || kind === 'turn').length;
      if (end.how === 'failed' && stepCount >= MAX_STEPS) return;
      expect(end.how).toBe(fails(scripted) ? 'failed' : 'done');
      const outcomes = expectedOutcomes(scripted);
      for (const { node } of scripted.nodes) {
        const finalState = state.stateOf(node.id)?.state;
        const isFinal = finalState !== 'idle' && finalState !== 'working' && finalState !== 'waiting';
        // After a failed flow some nodes have no outcome.
        const isCut = end.how === 'failed' && !isFinal;
        if (!isCut) expect([node.id, finalState]).toEqual([node.id, outcomes.get(node.id)]);
      }
      // A node is entered only at the start and after each pause.
      const entered = rows.filter(({ kind }) => kind === 'entered').map((row) => row.in);
      for (const path of new Set(entered)) {
        const pauses = rows.filter((row) => row.in === path && row.kind === 'again').length;
        expect(entered.filter((each) => each === path).length).toBeLessThanOrEqual(pauses + 1);
      }
    }),
    { numRuns: runs(80) },
  );
});
