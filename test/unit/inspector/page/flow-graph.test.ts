// Nodes and arrows of a flow before the layout (graph.ts): the arrows of loops, and the state of an arrow in
// a run.

import { expect, test } from 'vitest';
import type { NodeRecord } from '../../../../src/http/api/run-shapes.ts';
import type { GraphRecord } from '../../../../src/http/api/target-shapes.ts';
import { arrowState, arrowText, partsOf } from '../../../../src/inspector/page/flow/graph.ts';

const node = (id: string, more: object = {}) => ({
  id,
  type: 'Agent',
  description: null,
  on_error: null,
  ...more,
});

const graph = {
  nodes: [
    node('check', { on_error: 'told' }),
    node('told'),
    node('each', {
      type: 'Loop',
      inside: { nodes: [node('a'), node('b')], connections: [{ from: 'a', to: 'b', when: null }] },
    }),
  ],
  connections: [
    { from: 'check', to: 'told', when: 'steps.check.output.ok' },
    { from: 'check', to: 'each', when: 'else' },
  ],
} as GraphRecord;

test('the graph of a flow has one arrow for each connection and each on_error, also within loops', () => {
  const { nodes, arrows } = partsOf(graph);
  expect(nodes.map(({ place }) => place)).toEqual(['check', 'told', 'each', 'each/a', 'each/b']);
  expect(arrows.map((arrow) => [arrow.source, arrow.target, arrowText(arrow)])).toEqual([
    ['check', 'told', 'steps.check.output.ok'],
    ['check', 'each', 'else'],
    ['check', 'told', 'on error'],
    ['each/a', 'each/b', ''],
  ]);
});

test('an arrow of a flow is taken, untaken or open, depending on the outcome of its node', () => {
  const [plain, otherwise, caught] = partsOf(graph).arrows;
  const states = (state: string, takenEdges: readonly string[] | null) =>
    [plain, otherwise, caught].map((arrow) =>
      arrowState(
        arrow ?? { source: '', target: '', index: 0 },
        new Map([['check', { state, taken: takenEdges } as NodeRecord]]),
      ),
    );
  expect(states('done', ['each'])).toEqual(['untaken', 'taken', 'untaken']);
  expect(states('failed', null)).toEqual(['untaken', 'untaken', 'taken']);
  expect(states('working', null)).toEqual(['open', 'open', 'open']);
  expect(states('skipped', null)).toEqual(['untaken', 'untaken', 'untaken']);
});
