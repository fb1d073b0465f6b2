// Layout of flows: no arrow crosses a box, and no label overlaps one (FL1). The drawn paths are checked.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { GraphRecord } from '../../../../src/http/api/target-shapes.ts';
import type { Rect } from '../../../../src/inspector/page/chart/layout.ts';
import { type FlowArrow, type FlowParts, partsOf } from '../../../../src/inspector/page/flow/graph.ts';
import { layoutFlow } from '../../../../src/inspector/page/flow/layout.ts';
import { routePath } from '../../../../src/inspector/page/flow/routes.ts';
import { runs } from '../../../fixtures/property-runs.ts';

const ROOT = join(import.meta.dirname, '../../../..');
/** Content width of the pane of a run in a window of 1280 pixels, and the minimum scale of the picture. */
const PANE = 740;
const MIN_SCALE = 0.7;
/** Checked points of each curve. */
const STEPS = 16;

interface WrittenGraph {
  readonly nodes: readonly {
    readonly id: string;
    readonly type: string;
    readonly on_error?: string;
    readonly config?: Partial<WrittenGraph>;
  }[];
  readonly connections?: readonly { readonly from: string; readonly to: string; readonly when?: string }[];
}

const recordOf = ({ nodes, connections = [] }: WrittenGraph): GraphRecord => ({
  nodes: nodes.map(({ id, type, on_error = null, config }) => ({
    ...{ id, type, description: null, on_error },
    ...(config?.nodes === undefined ? {} : { inside: recordOf({ nodes: config.nodes, ...config }) }),
  })),
  connections: connections.map(({ from, to, when = null }) => ({
    from,
    to,
    when: when === null ? null : `${when}`,
  })),
});

/** Flows in the files of examples, and in the documents. */
function writtenFlows(): { readonly file: string; readonly graph: GraphRecord }[] {
  const files = ['examples', 'docs'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  );
  return files
    .filter((file) => /\.(?:yaml|md)$/.test(file))
    .flatMap((file) => {
      const text = readFileSync(join(ROOT, file), 'utf8');
      const sources = file.endsWith('.md')
        ? [...text.matchAll(/```yaml\n(.*?)```/gs)].map(([, source = '']) => source)
        : [text];
      return sources
        .filter((source) => /^kind: (?:Agent)?Flow\b/m.test(source))
        .flatMap((source) => parseAllDocuments(source).map((document) => document.toJS()))
        .filter((resource) => /Flow$/.test(resource?.kind) && resource.spec?.nodes !== undefined)
        .map(({ spec }) => ({ file, graph: recordOf(spec) }));
    });
}

interface Spot {
  readonly x: number;
  readonly y: number;
}

/** Returns points along a path of absolute M, L and C commands. */
function pointsOf(path: string): Spot[] {
  const points: Spot[] = [];
  for (const [, command, rest = ''] of path.matchAll(/([A-Z])([^A-Z]*)/g)) {
    const numbers = rest.trim().split(/[ ,]+/).map(Number);
    const at = (index: number): Spot => ({
      x: numbers[2 * index] ?? Number.NaN,
      y: numbers[2 * index + 1] ?? Number.NaN,
    });
    const start = points.at(-1) ?? at(0);
    if (command === 'M') points.push(at(0));
    else if (command === 'L') points.push(...between([start, start, at(0), at(0)]));
    else if (command === 'C') points.push(...between([start, at(0), at(1), at(2)]));
    else throw new Error(`unknown command ${command}`);
  }
  return points;
}

function between([a, b, c, d]: readonly [Spot, Spot, Spot, Spot]): Spot[] {
  return Array.from({ length: STEPS }, (_, index) => {
    const t = (index + 1) / STEPS;
    const mix = (...[p, q, r, s]: readonly [number, number, number, number]) =>
      (1 - t) ** 3 * p + 3 * (1 - t) ** 2 * t * q + 3 * (1 - t) * t ** 2 * r + t ** 3 * s;
    return { x: mix(a.x, b.x, c.x, d.x), y: mix(a.y, b.y, c.y, d.y) };
  });
}

const isInside = ({ x, y }: Spot, box: Rect): boolean =>
  x > box.x + 0.5 && x < box.x + box.width - 0.5 && y > box.y + 0.5 && y < box.y + box.height - 0.5;

const overlap = (a: Rect, b: Rect): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

const contains = (outer: Rect, inner: Rect): boolean =>
  inner.x >= outer.x &&
  inner.y >= outer.y &&
  inner.x + inner.width <= outer.x + outer.width &&
  inner.y + inner.height <= outer.y + outer.height;

const isAround = (loop: string, place: string): boolean => place.startsWith(`${loop}/`);

/** Returns descriptions of all wrong positions. */
function faultsOf(parts: FlowParts): string[] {
  const chart = layoutFlow(parts);
  const picture = { x: 0, y: 0, width: chart.width, height: chart.height };
  const faults: string[] = [];
  const nameOf = ({ source, target }: FlowArrow) => `${source} → ${target}`;
  for (const { place, loop } of parts.nodes) {
    const box = chart.boxes.get(place);
    const around = loop === null ? picture : chart.boxes.get(loop);
    if (box === undefined || around === undefined || !contains(around, box))
      faults.push(`${place} is outside`);
  }
  const labels: (readonly [FlowArrow, Rect])[] = [];
  const paths = new Map([...chart.lines].map(([arrow, { route }]) => [arrow, pointsOf(routePath(route))]));
  for (const arrow of parts.arrows) {
    const line = chart.lines.get(arrow);
    if (line === undefined) {
      faults.push(`${nameOf(arrow)} is missing`);
      continue;
    }
    const isOther = (place: string) => !isAround(place, arrow.source);
    const points = paths.get(arrow) ?? [];
    for (const [place, box] of chart.boxes) {
      const isEnd = place === arrow.source || place === arrow.target;
      if (isOther(place) && !isEnd && points.some((point) => isInside(point, box)))
        faults.push(`${nameOf(arrow)} crosses ${place}`);
      // Nor does it run through its own boxes; it only touches their borders.
      if (isEnd && points.some((point) => isInside(point, box)))
        faults.push(`${nameOf(arrow)} is in ${place}`);
      if (line.label.width > 0 && isOther(place) && overlap(line.label, box))
        faults.push(`the label of ${nameOf(arrow)} overlaps ${place}`);
    }
    if (points.some((point) => !isInside(point, picture))) faults.push(`${nameOf(arrow)} leaves the picture`);
    if (line.label.width > 0) {
      if (!contains(picture, line.label)) faults.push(`the label of ${nameOf(arrow)} leaves the picture`);
      labels.push([arrow, line.label]);
    }
  }
  labels.forEach(([arrow, label], index) => {
    for (const [other, second] of labels.slice(index + 1))
      if (overlap(label, second)) faults.push(`the labels of ${nameOf(arrow)} and ${nameOf(other)} overlap`);
    for (const [other, points] of paths)
      if (other !== arrow && points.some((point) => isInside(point, label)))
        faults.push(`${nameOf(other)} crosses the label of ${nameOf(arrow)}`);
  });
  return faults;
}

const conditions = [
  null,
  'else',
  'approved',
  'steps.check.output.data.ok && steps.look.output.body.state == "up"',
];

/** Random graphs with branches, `on_error`, loops, parallel arrows, and arrows against the order. */
const graphs = (depth: number): fc.Arbitrary<GraphRecord> =>
  fc.integer({ min: 1, max: 4 + 3 * depth }).chain((count) => {
    const ids = Array.from({ length: count }, (_, index) => `${'step'.repeat((index * 7) % 4)}n${index}`);
    const other = fc.constantFrom(null, ...ids);
    return fc.record({
      nodes: fc.tuple(
        ...ids.map((id) =>
          fc
            .record({
              onError: other,
              inside: depth === 0 ? fc.constant(null) : fc.option(graphs(depth - 1), { freq: 3 }),
            })
            .map(({ onError, inside }) => ({
              ...{ id, type: 'Agent', description: null, on_error: onError === id ? null : onError },
              ...(inside === null ? {} : { inside }),
            })),
        ),
      ),
      connections: fc.uniqueArray(
        fc
          .record({
            from: fc.constantFrom(...ids),
            to: fc.constantFrom(...ids),
            when: fc.constantFrom(...conditions),
          })
          .filter(({ from, to }) => from !== to),
        { maxLength: count === 1 ? 0 : 14, selector: ({ from, to }) => `${from} ${to}` },
      ),
    });
  });

describe('the picture of a flow', () => {
  const flows = writtenFlows();

  test('is tested with several example flows', () => {
    expect(flows.length).toBeGreaterThan(1);
  });

  test.each(flows)('of $file fits its pane, and no arrow or label touches another box', ({ graph }) => {
    const parts = partsOf(graph);
    expect(faultsOf(parts)).toEqual([]);
    expect(layoutFlow(parts).width * MIN_SCALE).toBeLessThanOrEqual(PANE);
  });

  test('of any graph has no arrow through a box, and no label over a box, an arrow or another label', () => {
    fc.assert(
      fc.property(graphs(1), (graph) => {
        expect(faultsOf(partsOf(graph))).toEqual([]);
      }),
      { numRuns: runs(200) },
    );
  });
});
