import { expect, it } from 'vitest';
import { FlowState, MAX_STEPS } from '../../../../machines/flow-run/flow-state.ts';
import type { FlowGraph, GraphNode } from '../../../../machines/flow-run/graph.ts';
import type { FlowRow } from '../../../../machines/flow-run/rows.ts';

const node = (id: string, more: Partial<GraphNode> = {}): GraphNode => ({ id, join: 'all', ...more });
const line = (...ids: readonly string[]) => ids.slice(1).map((to, n) => ({ from: ids[n] ?? '', to }));
const leftRow = (path: string, takenEdges: readonly number[] = [0]): FlowRow => ({
  kind: 'left',
  in: path,
  output: path,
  taken: takenEdges,
});

function stateAfter(graph: FlowGraph, ...rows: readonly FlowRow[]): FlowState {
  const state = new FlowState(graph);
  for (const row of rows) state.apply(row);
  return state;
}

it('an End node ends the flow even if other nodes are still working', () => {
  const graph = {
    nodes: [node('a'), node('b'), node('end'), node('c')],
    connections: [...line('a', 'end'), ...line('b', 'c')],
  };
  const state = stateAfter(
    graph,
    { kind: 'entered', in: 'a' },
    { kind: 'entered', in: 'b' },
    leftRow('a'),
    { kind: 'entered', in: 'end' },
    { kind: 'left', in: 'end', output: null, taken: [], isEnd: true },
    leftRow('b'),
  );
  expect(state.next()).toEqual({ starts: [], turns: [], rows: [], end: { how: 'done', at: 'end' } });
  expect(state.stateOf('b')?.state).toBe('dropped');
  expect(state.stateOf('c')?.state).toBe('dropped');
});

it('an End node inside a loop ends the iteration and the loops inside it', () => {
  const inner = { nodes: [node('x')], connections: [] };
  const inside = { nodes: [node('stop'), node('deep', { inside: inner })], connections: [] };
  const graph = { nodes: [node('loop', { inside })], connections: [] };
  const state = stateAfter(
    graph,
    { kind: 'entered', in: 'loop' },
    { kind: 'turn', in: 'loop', n: 1 },
    { kind: 'entered', in: 'loop#1/deep' },
    { kind: 'turn', in: 'loop#1/deep', n: 1 },
    { kind: 'entered', in: 'loop#1/stop' },
    { kind: 'left', in: 'loop#1/stop', output: 7, taken: [], isEnd: true },
  );
  expect(state.next()).toMatchObject({ starts: [], turns: [{ path: 'loop', n: 2 }], end: undefined });
  expect(state.lastTurn('loop')).toMatchObject({ n: 1, end: 'loop#1/stop' });
  expect(state.outputOf('loop#1/stop')).toBe(7);
});

it('a flow without an end fails after the maximum number of steps', () => {
  const graph = { nodes: [node('loop', { inside: { nodes: [], connections: [] } })], connections: [] };
  const state = stateAfter(graph, { kind: 'entered', in: 'loop' });
  for (let n = 1; n < MAX_STEPS; n += 1) {
    expect(state.next().turns).toEqual([{ path: 'loop', n }]);
    state.apply({ kind: 'turn', in: 'loop', n });
  }
  expect(state.next().end).toMatchObject({
    how: 'failed',
    reason: `the flow has started ${MAX_STEPS} steps, the limit, without an end`,
  });
});

it('the state of a flow contains the reason why a node was skipped', () => {
  const graph = {
    nodes: [node('a'), node('b'), node('c'), node('most', { join: 'majority' }), node('after')],
    connections: [...line('a', 'most', 'after'), ...line('b', 'most'), ...line('c', 'most')],
  };
  const state = stateAfter(graph, ...['a', 'b', 'c'].map((path): FlowRow => ({ kind: 'entered', in: path })));
  state.apply(leftRow('a'));
  state.apply(leftRow('b', []));
  expect(state.stateOf('most')?.state).toBe('idle');
  state.apply(leftRow('c', []));
  expect(state.stateOf('most')).toEqual({
    state: 'skipped',
    why: 'only 1 of 3 connections were taken, a majority is required',
  });
  expect(state.stateOf('after')).toEqual({ state: 'skipped', why: 'no connection to it was taken' });
  expect(state.next().end).toEqual({ how: 'done', at: undefined });
});

it('the state of a flow contains the position of a failure, with loop and iteration', () => {
  const inside = { nodes: [node('x')], connections: [] };
  const graph = { nodes: [node('loop', { inside })], connections: [] };
  const state = stateAfter(
    graph,
    { kind: 'entered', in: 'loop' },
    { kind: 'turn', in: 'loop', n: 1 },
    { kind: 'entered', in: 'loop#1/x' },
    { kind: 'failed', in: 'loop#1/x', reason: 'status 500' },
  );
  const { rows } = state.next();
  expect(rows).toEqual([{ kind: 'failed', in: 'loop', reason: 'loop#1/x: status 500' }]);
  rows.forEach((row) => {
    state.apply(row);
  });
  expect(state.next().end).toEqual({ how: 'failed', at: 'loop', reason: 'loop#1/x: status 500' });
});

it('a failure recorded for a part of a flow node does not fail the node itself', () => {
  const graph = { nodes: [node('review')], connections: [] };
  const state = stateAfter(
    graph,
    { kind: 'entered', in: 'review' },
    { kind: 'failed', in: 'review/style', reason: 'no' },
  );
  expect(state.next().end).toBeUndefined();
  expect(state.working).toEqual(['review']);
});
