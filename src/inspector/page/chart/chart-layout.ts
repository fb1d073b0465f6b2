// Where the boxes and arrows of a machine stand, or those of a flow. Laid out by dagre, once per definition: what changes while one
// runs is only which box is filled and which arrow is lit (chart-light.ts).
//
// CL1  every state has a box, inside of its parent's; every transition is an arrow, a note in a box, or in `everywhere`.
// CL2  dagre cannot draw to a box that has others inside: such an arrow is led to the state that is entered first, or from the one
//      that comes last, and ends at the border.

import { layout as dagreLayout, graphlib } from '@dagrejs/dagre';
import type { MachineDefinition } from '../../wire/feed-wire.ts';
import { type Graph, type GraphArrow, type GraphBox, graphOf, type Label } from './chart-graph.ts';

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** `x` and `y` are the upper left corner. */
export interface Rect extends Point {
  readonly width: number;
  readonly height: number;
}

export interface Box extends GraphBox, Rect {}

export interface Arrow extends GraphArrow {
  readonly points: readonly Point[];
  /** The middle of the labels; null without any. */
  readonly middle: Point | null;
}

export interface Chart {
  readonly machine: string;
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly Box[];
  readonly arrows: readonly Arrow[];
  readonly everywhere: readonly Label[];
}

export const LINE = 14;
const HEAD = 22;
const CHAR = 6.4;
const PAD = 12;
const MARGIN = 16;

/** The chart of a machine, in pixels. */
export function layoutOf(machine: MachineDefinition): Chart {
  return placedGraph(machine.id, graphOf(machine));
}

/** The chart of anything that is boxes and arrows; the paths of boxes within others begin with those of the others and a dot. */
export function placedGraph(name: string, { boxes, arrows, everywhere }: Graph): Chart {
  const graph = new graphlib.Graph({ compound: true, multigraph: true });
  graph.setGraph({ rankdir: 'TB', nodesep: 8, ranksep: 32, edgesep: 4, marginx: MARGIN, marginy: MARGIN });
  graph.setDefaultEdgeLabel(() => ({}));
  const byPath = new Map(boxes.map((box) => [box.path, box]));
  for (const box of boxes) graph.setNode(box.path, box.isCluster ? {} : sizeOf(box));
  for (const { path, parent } of boxes) if (parent !== null) graph.setParent(path, parent);
  const ends = arrows.map(({ source, target }) => ({
    source: leafOf(source, boxes, byPath, 'isLast'),
    target: leafOf(target, boxes, byPath, 'isInitial'),
  }));
  arrows.forEach(({ labels }, index) => {
    const end = ends[index];
    if (end === undefined) return;
    const width = Math.max(...labels.map(({ text }) => text.length)) * 5.8 + 6;
    const label = { width, height: labels.length * LINE, labelpos: 'c' };
    graph.setEdge(end.source, end.target, label, String(index));
  });
  dagreLayout(graph);

  const placed = new Map(boxes.map((box) => [box.path, rectOf(graph.node(box.path), box)]));
  const size = graph.graph();
  return {
    machine: name,
    width: Math.ceil(size.width ?? 0) + MARGIN,
    height: Math.ceil(size.height ?? 0) + MARGIN,
    boxes: boxes.map((box) => ({ ...box, ...(placed.get(box.path) ?? nowhere) })),
    arrows: arrows.map((arrow, index) => {
      const end = ends[index];
      const edge = end && graph.edge({ v: end.source, w: end.target, name: String(index) });
      const borders = outside(arrow, placed);
      const points = clipped(edge?.points ?? [], borders);
      const hasText = arrow.labels.some(({ text }) => text !== '');
      const given = { x: edge?.x ?? 0, y: edge?.y ?? 0 };
      const isCutOff = [borders.source, borders.target].some(
        (box) => box !== undefined && isInside(given, box),
      );
      return { ...arrow, points, middle: hasText ? (isCutOff ? halfWay(points) : given) : null };
    }),
    everywhere,
  };
}

const nowhere: Rect = { x: 0, y: 0, width: 0, height: 0 };

function sizeOf({ label, notes }: GraphBox): { width: number; height: number } {
  const longest = Math.max(label.length * 1.25, ...notes.map(({ text }) => text.length));
  const lines = notes.length === 0 ? 0 : notes.length * LINE + 6;
  return { width: Math.max(72, longest * CHAR + 2 * PAD), height: HEAD + 12 + lines };
}

/** dagre gives middles. A cluster gets room for its name above what dagre has left it. */
function rectOf(node: Rect, { isCluster }: GraphBox): Rect {
  const { x, y, width, height } = node;
  const head = isCluster ? HEAD / 2 : 0;
  return { x: x - width / 2, y: y - height / 2 - head, width, height: height + head };
}

/** The box itself, or the one inside of it by which it is entered or left. */
function leafOf(
  path: string,
  boxes: readonly GraphBox[],
  byPath: ReadonlyMap<string, GraphBox>,
  by: 'isInitial' | 'isLast',
): string {
  if (byPath.get(path)?.isCluster !== true) return path;
  const inside = boxes.filter(({ parent }) => parent === path);
  const found =
    inside.find((box) => box[by] === true) ?? inside.find(({ isInitial }) => isInitial) ?? inside[0];
  return found === undefined ? path : leafOf(found.path, boxes, byPath, by);
}

/** The borders at which an arrow begins and ends, where they are not those of the boxes it was led to. */
function outside({ source, target }: GraphArrow, placed: ReadonlyMap<string, Rect>): Ends {
  const isWithin = (inner: string, outer: string) => inner.startsWith(`${outer}.`);
  return {
    source: isWithin(target, source) ? undefined : placed.get(source),
    target: isWithin(source, target) ? undefined : placed.get(target),
  };
}

interface Ends {
  readonly source: Rect | undefined;
  readonly target: Rect | undefined;
}

/** The line without its parts inside of the boxes at its ends. */
function clipped(points: readonly Point[], { source, target }: Ends): readonly Point[] {
  const fromSource = source === undefined ? points : cutStart(points, source);
  if (target === undefined) return fromSource;
  return [...cutStart([...fromSource].reverse(), target)].reverse();
}

function cutStart(points: readonly Point[], box: Rect): readonly Point[] {
  const firstOut = points.findIndex((point) => !isInside(point, box));
  if (firstOut <= 0) return points;
  const inner = points[firstOut - 1];
  const outer = points[firstOut];
  if (inner === undefined || outer === undefined) return points;
  return [crossing(inner, outer, box), ...points.slice(firstOut)];
}

function halfWay(points: readonly Point[]): Point {
  const middle = (points.length - 1) / 2;
  const before = points[Math.floor(middle)] ?? nowhere;
  const after = points[Math.ceil(middle)] ?? before;
  return { x: (before.x + after.x) / 2, y: (before.y + after.y) / 2 };
}

function isInside({ x, y }: Point, box: Rect): boolean {
  return x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height;
}

/** Where the way from a point inside to one outside leaves the box. */
function crossing(inner: Point, outer: Point, box: Rect): Point {
  const along = (from: number, to: number, low: number, high: number): number => {
    if (to > high) return (high - from) / (to - from);
    return to < low ? (low - from) / (to - from) : 1;
  };
  const share = Math.min(
    along(inner.x, outer.x, box.x, box.x + box.width),
    along(inner.y, outer.y, box.y, box.y + box.height),
  );
  return { x: inner.x + (outer.x - inner.x) * share, y: inner.y + (outer.y - inner.y) * share };
}
