// Flows of random graphs, whose nodes do what was drawn for them, carried out in random order with ends of the process in between:
// what becomes of each node is what a simple interpreter says, which knows neither rows nor order.

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
  /** How often it fails or waits before it comes to its end. */
  readonly pauses: number;
  readonly turns: number;
  readonly inside: DrawnGraph | undefined;
}

interface DrawnGraph {
  readonly graph: FlowGraph;
  readonly nodes: readonly DrawnNode[];
  /** By the node, in the order of its connections. */
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
      const taken = new Map<string, number[]>();
      const nodes = drawn.map(({ isGood, join, onError, pauses, turns, inside, to }, at): DrawnNode => {
        const id = `n${at}`;
        const places: number[] = [];
        let place = 0;
        for (const { by, isTaken } of to) {
          if (at + by > last) continue;
          connections.push({ from: id, to: `n${at + by}` });
          if (isTaken) places.push(place);
          place += 1;
        }
        taken.set(id, places);
        const catches =
          onError !== undefined && at + 1 + onError <= last ? `n${at + 1 + onError}` : undefined;
        const node = { id, join, onError: catches, inside: inside?.graph };
        return { node, isGood, pauses, turns, inside };
      });
      return { graph: { nodes: nodes.map(({ node }) => node), connections }, nodes, taken };
    });

type Fate = 'done' | 'failed' | 'skipped';

/** What becomes of each node where nothing is cut short, in the order of the file: nothing leads back. */
function fates({ graph, nodes, taken }: DrawnGraph): ReadonlyMap<string, Fate> {
  const given = new Map<string, Fate>();
  for (const { node, isGood, turns, inside } of nodes) {
    const into = nodes.flatMap(({ node: from }) => {
      const own = graph.connections.filter((each) => each.from === from.id);
      const fate = given.get(from.id);
      const plain = own.flatMap(({ to }, place) =>
        to === node.id ? [fate === 'done' && taken.get(from.id)?.includes(place) === true] : [],
      );
      return from.onError === node.id ? [...plain, fate === 'failed'] : plain;
    });
    const count = into.filter((isTaken) => isTaken).length;
    const needed = node.join === 'majority' ? Math.floor(into.length / 2) + 1 : 1;
    const runs = into.length === 0 || count >= needed;
    const isBroken = inside !== undefined && turns > 0 && breaks(inside);
    given.set(node.id, !runs ? 'skipped' : (inside === undefined ? isGood : !isBroken) ? 'done' : 'failed');
  }
  return given;
}

function breaks(drawn: DrawnGraph): boolean {
  const given = fates(drawn);
  return drawn.nodes.some(({ node }) => given.get(node.id) === 'failed' && node.onError === undefined);
}

function drawnAt(drawn: DrawnGraph, path: string): { readonly drawn: DrawnNode; readonly in: DrawnGraph } {
  const { turns, id } = nodePath(path) ?? { turns: [], id: '' };
  let graph = drawn;
  for (const { loop } of turns) graph = graph.nodes.find(({ node }) => node.id === loop)?.inside ?? graph;
  return { drawn: graph.nodes.find(({ node }) => node.id === id) as DrawnNode, in: graph };
}

/** Carries a flow out: whenever several things could happen, `pick` says which. */
function carriedOut(drawn: DrawnGraph, pick: (count: number) => number) {
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
      // The process ends, and what goes on is what the journal says.
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
      const taken = graph.taken.get(loop.node.id) ?? [];
      may.push(() =>
        add(
          n <= loop.turns ? { kind: 'turn', in: path, n } : { kind: 'left', in: path, output: n - 1, taken },
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
    // FLW1, FN1: while the flow has not ended something can be done.
    expect(may.length).toBeGreaterThan(0);
    may[pick(may.length)]?.();
  }
}

it('FLW1 FLW2 FLW3 GS1 GS2 GS3 in whatever order, and however often the process ends, each node comes to what an interpreter says', () => {
  fc.assert(
    fc.property(arbGraph(2), fc.infiniteStream(fc.nat(1_000_000)), (drawn, choices) => {
      const pick = (count: number) => (choices.next().value ?? 0) % count;
      const { rows, state, end } = carriedOut(drawn, pick);
      if (
        end.how === 'failed' &&
        rows.filter(({ kind }) => kind === 'entered' || kind === 'turn').length >= 1_000
      )
        return;
      expect(end.how).toBe(breaks(drawn) ? 'failed' : 'done');
      const given = fates(drawn);
      for (const { node } of drawn.nodes) {
        const { state: is } = state.stateOf(node.id) ?? {};
        const isCut = end.how === 'failed' && (is === 'idle' || is === 'working' || is === 'waiting');
        if (!isCut) expect([node.id, is]).toEqual([node.id, given.get(node.id)]);
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
