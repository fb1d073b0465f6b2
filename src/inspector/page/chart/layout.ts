// Positions of boxes and arrows, computed by dagre, once for each machine. Later only the highlighting
// changes (highlight.ts).
//
// - Each state has a box inside its parent's box. Each transition is an arrow, a note in a box, or, if
//   every state allows it, an entry of `everywhere`.
// - dagre cannot connect a box that contains others. An arrow of such a box is connected to its initial inner
//   box and clipped at the border.

import { layout as dagreLayout, graphlib } from '@dagrejs/dagre';
import type { MachineDefinition } from '../../wire/feed.ts';
import { type GraphArrow, type GraphBox, graphOf, type Label } from './graph.ts';

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** `x` and `y` are the top left corner. */
export interface Rect extends Point {
  readonly width: number;
  readonly height: number;
}

export interface Box extends GraphBox, Rect {}

export interface ChartArrow extends GraphArrow {
  readonly points: readonly Point[];
  /** Centre of the labels; null without labels. */
  readonly middle: Point | null;
}

export interface Chart {
  readonly machine: string;
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly Box[];
  readonly arrows: readonly ChartArrow[];
  readonly everywhere: readonly Label[];
}

// Sizes in the units of the picture: height of a line of text, height of the head of a box with other boxes,
// width of a character, space between the text and the border of its box, and margin of the picture.
export const LINE = 14;
const HEAD = 22;
const CHAR = 6.4;
const PAD = 12;
const MARGIN = 16;
/** Minimum width of a box. */
const MIN_WIDTH = 72;

/** Returns the chart. Paths of inner boxes begin with the path of the outer box and a dot. */
export function layoutOf(machine: MachineDefinition): Chart {
  const { boxes, arrows, everywhere } = graphOf(machine);
  const graph = new graphlib.Graph({ compound: true, multigraph: true });
  graph.setGraph({ rankdir: 'TB', nodesep: 8, ranksep: 32, edgesep: 4, marginx: MARGIN, marginy: MARGIN });
  graph.setDefaultEdgeLabel(() => ({}));
  const byPath = new Map(boxes.map((box) => [box.path, box]));
  for (const box of boxes) graph.setNode(box.path, box.isCluster ? {} : sizeOf(box));
  for (const { path, parent } of boxes) if (parent !== null) graph.setParent(path, parent);
  const ends = arrows.map(({ source, target }) => ({
    source: leafOf(source, boxes, byPath),
    target: leafOf(target, boxes, byPath),
  }));
  arrows.forEach(({ labels }, index) => {
    const end = ends[index];
    if (end === undefined) return;
    // The font of arrow labels is smaller: 5.8 units per character.
    const width = Math.max(...labels.map(({ text }) => text.length)) * 5.8 + 6;
    const label = { width, height: labels.length * LINE, labelpos: 'c' };
    graph.setEdge(end.source, end.target, label, String(index));
  });
  dagreLayout(graph);

  const rects = new Map(boxes.map((box) => [box.path, rectOf(graph.node(box.path), box)]));
  const size = graph.graph();
  return {
    machine: machine.id,
    width: Math.ceil(size.width ?? 0) + MARGIN,
    height: Math.ceil(size.height ?? 0) + MARGIN,
    boxes: boxes.map((box) => ({ ...box, ...(rects.get(box.path) ?? EMPTY_RECT) })),
    arrows: arrows.map((arrow, index) => {
      const end = ends[index];
      const edge = end && graph.edge({ v: end.source, w: end.target, name: String(index) });
      const borders = bordersOf(arrow, rects);
      const points = clipEnds(edge?.points ?? [], borders);
      const hasText = arrow.labels.some(({ text }) => text !== '');
      const position = { x: edge?.x ?? 0, y: edge?.y ?? 0 };
      const isInsideBox = [borders.source, borders.target].some(
        (box) => box !== undefined && isInside(position, box),
      );
      return { ...arrow, points, middle: hasText ? (isInsideBox ? midpoint(points) : position) : null };
    }),
    everywhere,
  };
}

const EMPTY_RECT: Rect = { x: 0, y: 0, width: 0, height: 0 };

function sizeOf({ label, notes }: GraphBox): { width: number; height: number } {
  // The font of a box's label is larger than the font of its notes.
  const longest = Math.max(label.length * 1.25, ...notes.map(({ text }) => text.length));
  const noteHeight = notes.length === 0 ? 0 : notes.length * LINE + 6;
  return { width: Math.max(MIN_WIDTH, longest * CHAR + 2 * PAD), height: HEAD + 12 + noteHeight };
}

/** Converts dagre's centre positions. Boxes with inner boxes get additional space for the name. */
function rectOf(node: Rect, { isCluster }: GraphBox): Rect {
  const { x, y, width, height } = node;
  const head = isCluster ? HEAD / 2 : 0;
  return { x: x - width / 2, y: y - height / 2 - head, width, height: height + head };
}

/** Returns the box itself, or the inner box where arrows enter or leave it. */
function leafOf(path: string, boxes: readonly GraphBox[], byPath: ReadonlyMap<string, GraphBox>): string {
  if (byPath.get(path)?.isCluster !== true) return path;
  const inside = boxes.filter(({ parent }) => parent === path);
  const leaf = inside.find(({ isInitial }) => isInitial) ?? inside[0];
  return leaf === undefined ? path : leafOf(leaf.path, boxes, byPath);
}

/** Returns the borders at which the arrow must be clipped. */
function bordersOf({ source, target }: GraphArrow, rects: ReadonlyMap<string, Rect>): Ends {
  const isWithin = (inner: string, outer: string) => inner.startsWith(`${outer}.`);
  return {
    source: isWithin(target, source) ? undefined : rects.get(source),
    target: isWithin(source, target) ? undefined : rects.get(target),
  };
}

interface Ends {
  readonly source: Rect | undefined;
  readonly target: Rect | undefined;
}

/** Clips both line ends at their boxes. */
function clipEnds(points: readonly Point[], { source, target }: Ends): readonly Point[] {
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

function midpoint(points: readonly Point[]): Point {
  const middle = (points.length - 1) / 2;
  const before = points[Math.floor(middle)] ?? EMPTY_RECT;
  const after = points[Math.ceil(middle)] ?? before;
  return { x: (before.x + after.x) / 2, y: (before.y + after.y) / 2 };
}

function isInside({ x, y }: Point, box: Rect): boolean {
  return x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height;
}

/** Returns the point where the line from an inner to an outer point leaves the box. */
function crossing(inner: Point, outer: Point, box: Rect): Point {
  /** Share of the line before the border, for one coordinate with the limits `low` and `high`. */
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
