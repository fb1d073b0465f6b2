// The charts of all machines: each transition is drawn, and the correct parts are highlighted.

import { describe, expect, test } from 'vitest';
import { machineDefinitions } from '../../../../src/inspector/feed/machine-definitions.ts';
import { highlightOf, matchesEvent } from '../../../../src/inspector/page/chart/highlight.ts';
import { type Box, layoutOf, type Point, type Rect } from '../../../../src/inspector/page/chart/layout.ts';
import type { MachineState } from '../../../../src/inspector/wire/feed.ts';

const definitions = machineDefinitions();
const charts = definitions.map((definition) => ({ definition, chart: layoutOf(definition) }));
const statesOf = (state: MachineState): MachineState[] => [state, ...state.states.flatMap(statesOf)];

const chartOf = (id: string) => {
  const chart = charts.find(({ definition }) => definition.id === id);
  if (chart === undefined) throw new Error(`no chart of ${id}`);
  return chart.chart;
};

test('each state machine in the inspector has a chart definition with the name of its actor', () => {
  expect(definitions.map(({ id }) => id)).toEqual([
    'gateway',
    'supervisor',
    'server',
    'trigger',
    'connection',
    'conversation',
  ]);
});

describe.each(charts)('the chart of $definition.id', ({ definition, chart }) => {
  const byPath = new Map(chart.boxes.map((box) => [box.path, box]));

  test('has a box for each state, inside its parent and beside its siblings', () => {
    const states = statesOf(definition.root).slice(1);
    expect([...byPath.keys()].sort()).toEqual(states.map(({ path }) => path).sort());
    for (const box of chart.boxes) {
      expect(box.x).toBeGreaterThanOrEqual(0);
      expect(box.y).toBeGreaterThanOrEqual(0);
      expect(box.x + box.width).toBeLessThanOrEqual(chart.width);
      expect(box.y + box.height).toBeLessThanOrEqual(chart.height);
      const parent = box.parent === null ? undefined : byPath.get(box.parent);
      if (parent !== undefined) expect(contains(parent, box), `${box.path} in ${parent.path}`).toBe(true);
      for (const other of chart.boxes)
        if (other !== box && other.parent === box.parent)
          expect(overlap(box, other), `${box.path} over ${other.path}`).toBe(false);
    }
  });

  test('shows each transition as an arrow, as a note in its state, or in the list of events of all states', () => {
    for (const state of statesOf(definition.root)) {
      for (const { event, targets } of state.transitions) {
        const isArrow = targets.some((target) =>
          chart.arrows.some(
            (arrow) =>
              arrow.source === state.path &&
              arrow.target === target &&
              arrow.labels.some((label) => label.event === event),
          ),
        );
        const isNote = byPath.get(state.path)?.notes.some((note) => note.event === event) === true;
        const isEverywhere = state.path === '' && chart.everywhere.some((label) => label.event === event);
        expect(isArrow || isNote || isEverywhere, `${state.path} on ${event}`).toBe(true);
      }
    }
  });

  test('has a position for each arrow label, outside unrelated boxes', () => {
    for (const { source, target, labels, middle } of chart.arrows) {
      if (labels.every(({ text }) => text === '')) continue;
      if (middle === null) throw new Error(`${source} → ${target} has no place for its words`);
      expect(middle.x).toBeGreaterThan(16);
      expect(middle.x).toBeLessThan(chart.width - 16);
      for (const box of chart.boxes.filter(({ isCluster }) => !isCluster))
        expect(contains(box, { ...middle, width: 0, height: 0 }), `${labels[0]?.text} in ${box.path}`).toBe(
          false,
        );
    }
  });

  test('ends each arrow at the borders of its two boxes', () => {
    for (const { source, target, points } of chart.arrows) {
      const first = points[0];
      const last = points.at(-1);
      if (first === undefined || last === undefined) throw new Error(`${source} → ${target} has no way`);
      if (!target.startsWith(`${source}.`)) expect(isAtBorder(first, byPath.get(source)), source).toBe(true);
      if (!source.startsWith(`${target}.`)) expect(isAtBorder(last, byPath.get(target)), target).toBe(true);
    }
  });
});

describe('the highlighting of a state chart', () => {
  const chart = chartOf('server');
  const lit = (light: ReturnType<typeof highlightOf>) =>
    [...light.arrows].map((index) => `${chart.arrows[index]?.source} ${chart.arrows[index]?.target}`);

  test('covers the active states with their parents, and the arrow of the last step', () => {
    const last = { event: 'pool.lost', from: 'running', to: { failed: 'backingOff' }, at: 0 } as const;
    const light = highlightOf(chart, { failed: 'backingOff' }, last);
    expect([...light.active]).toEqual(['failed', 'failed.backingOff']);
    expect(lit(light)).toEqual(['running failed']);
  });

  test('has no arrow for an event that did not change the state', () => {
    const last = { event: 'start', from: 'stopping', to: 'stopping', at: 0 } as const;
    expect(lit(highlightOf(chart, 'stopping', last))).toEqual([]);
  });

  test('distinguishes arrows of one event by their targets', () => {
    const last = { event: 'pool.drained', from: 'stopping', to: 'starting', at: 0 } as const;
    expect(lit(highlightOf(chart, 'starting', last))).toEqual(['stopping starting']);
  });

  test('matches an event with a transition that has a wildcard', () => {
    expect(matchesEvent('xstate.done.actor.*', 'xstate.done.actor.files#1')).toBe(true);
    expect(matchesEvent('stop', 'stopped')).toBe(false);
  });
});

function contains(outer: Rect, inner: Rect): boolean {
  return (
    inner.x >= outer.x &&
    inner.y >= outer.y &&
    inner.x + inner.width <= outer.x + outer.width &&
    inner.y + inner.height <= outer.y + outer.height
  );
}

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

function isAtBorder({ x, y }: Point, box: Box | undefined): boolean {
  if (box === undefined) return false;
  const isNear = (a: number, b: number) => Math.abs(a - b) < 1;
  const isWithin = x > box.x - 1 && x < box.x + box.width + 1 && y > box.y - 1 && y < box.y + box.height + 1;
  const isOnSide = isNear(x, box.x) || isNear(x, box.x + box.width);
  return isWithin && (isOnSide || isNear(y, box.y) || isNear(y, box.y + box.height));
}
