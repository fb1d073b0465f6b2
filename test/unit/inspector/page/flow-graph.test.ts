import { expect, test } from 'vitest';
import { arrowState, arrowText, partsOf } from '../../../../src/inspector/page/flow/flow-graph.ts';
import type { DrawnGraph, NodeRow } from '../../../../src/inspector/wire/run-wire.ts';

const node = (id: string, more: object = {}) => ({
  ...{ id, type: 'Agent', description: null, on_error: null, inside: null },
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
} as unknown as DrawnGraph;

test('FGR1 every connection is an arrow of its own, and so is what leads to on_error, in loops by their places', () => {
  const { nodes, arrows } = partsOf(graph);
  expect(nodes.map(({ place }) => place)).toEqual(['check', 'told', 'each', 'each/a', 'each/b']);
  expect(arrows.map((arrow) => [arrow.source, arrow.target, arrowText(arrow)])).toEqual([
    ['check', 'told', 'steps.check.output.ok'],
    ['check', 'each', 'else'],
    ['check', 'told', 'on error'],
    ['each/a', 'each/b', ''],
  ]);
});

test('an arrow is taken, untaken or open, as its node has come to an end', () => {
  const [plain, otherwise, caught] = partsOf(graph).arrows;
  const states = (state: string, taken: readonly number[] | null) =>
    [plain, otherwise, caught].map((arrow) =>
      arrowState(arrow ?? { source: '', index: 0 }, new Map([['check', { state, taken } as NodeRow]])),
    );
  expect(states('done', [1])).toEqual(['untaken', 'taken', 'untaken']);
  expect(states('failed', null)).toEqual(['untaken', 'untaken', 'taken']);
  expect(states('working', null)).toEqual(['open', 'open', 'open']);
  expect(states('skipped', null)).toEqual(['untaken', 'untaken', 'untaken']);
});
