// Positions of boxes and arrows in the picture of a flow. dagre lays out each loop separately. In the graph
// around it, a loop is a single box, because no connection crosses the border.
//
// FL1  dagre centres the boxes and labels of a rank (one row) on a line, and separates them. An arrow is
//      vertical within the height of each rank, and bends only between ranks. Thus it touches no other box
//      and no other label.

import { layout as dagreLayout, graphlib } from '@dagrejs/dagre';
import { LINE, type Point, type Rect } from '../chart/layout.ts';
import { arrowLabel, type ChartNode, type FlowArrow, type FlowParts } from './graph.ts';
import { type EdgeRoute, type PlacedEdge, routesOf } from './routes.ts';

export interface FlowLine {
  readonly route: EdgeRoute;
  /** Rectangle around the label; width and height are 0 if the arrow has no label. */
  readonly label: Rect;
}

interface Positions {
  /** Boxes by the path of the node. */
  readonly boxes: ReadonlyMap<string, Rect>;
  readonly lines: ReadonlyMap<FlowArrow, FlowLine>;
}

export interface FlowChart extends Positions {
  readonly width: number;
  readonly height: number;
}

/** Box height: name, type and state. */
const BOX_HEIGHT = 68;
const MIN_WIDTH = 150;
const MIN_LOOP_WIDTH = 230;
/** Height of loop titles. */
const TITLE = 18;
/** Space around the content of a loop, and of the flow. */
const PAD = 12;
/** Widths per letter, for fonts with wide letters. */
const NAME_CHAR = 9.6;
const LABEL_CHAR = 6.9;

/** Returns the positions in the flow, or in the loop at this path. */
export function layoutFlow(parts: FlowParts, loop: string | null = null): FlowChart {
  const nodes = parts.nodes.filter((node) => node.loop === loop);
  const places = new Set(nodes.map(({ place }) => place));
  const arrows = parts.arrows.filter(({ source }) => places.has(source));
  const loops = new Map(
    nodes.filter(({ isLoop }) => isLoop).map(({ place }) => [place, layoutFlow(parts, place)]),
  );
  const graph = new graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'TB', nodesep: 16, ranksep: 44, edgesep: 16 });
  for (const node of nodes) graph.setNode(node.place, sizeOf(node, loops.get(node.place)));
  arrows.forEach((arrow, index) => {
    graph.setEdge(arrow.source, arrow.target, { ...labelSize(arrow), labelpos: 'c' }, String(index));
  });
  dagreLayout(graph);

  const boxes = new Map(nodes.map(({ place }) => [place, rectOf(graph.node(place))]));
  const edges = arrows.map((arrow, index): PlacedEdge => {
    const {
      points = [],
      x = 0,
      y = 0,
    } = graph.edge({ v: arrow.source, w: arrow.target, name: String(index) });
    // The first and the last point are at the boxes; a route has its own ends there.
    return { ...arrow, bends: points.slice(1, -1), label: rectOf({ x, y, ...labelSize(arrow) }) };
  });
  const routes = routesOf(boxes, edges);
  const lines = new Map(
    arrows.map((arrow, index): [FlowArrow, FlowLine] => [
      arrow,
      { route: routes[index] ?? [], label: edges[index]?.label ?? { x: 0, y: 0, width: 0, height: 0 } },
    ]),
  );
  return withInside(withMargin({ boxes, lines }), loops);
}

function sizeOf({ id }: ChartNode, inside: FlowChart | undefined): { width: number; height: number } {
  const width = id.length * NAME_CHAR + 2 * PAD;
  if (inside === undefined) return { width: Math.max(MIN_WIDTH, width), height: BOX_HEIGHT };
  return { width: Math.max(MIN_LOOP_WIDTH, width, inside.width), height: TITLE + inside.height };
}

function labelSize(arrow: FlowArrow): { width: number; height: number } {
  const lines = arrowLabel(arrow);
  if (lines.length === 0) return { width: 0, height: 0 };
  const letters = Math.max(...lines.map((line) => line.length));
  // With margins of 3 and 2 units.
  return { width: letters * LABEL_CHAR + 6, height: lines.length * LINE + 4 };
}

/** Converts dagre's centre to the top left corner. */
function rectOf({ x, y, width, height }: Rect): Rect {
  return { x: x - width / 2, y: y - height / 2, width, height };
}

/**
 * Moves all positions so that the content begins after a margin, and computes the size with margins. dagre's
 * own size does not include bends of arrows without label.
 */
function withMargin({ boxes, lines }: Positions): FlowChart {
  const rects = [...boxes.values()];
  const xs = rects.flatMap(({ x, width }) => [x, x + width]);
  const ys = rects.flatMap(({ y, height }) => [y, y + height]);
  for (const { route, label } of lines.values()) {
    xs.push(...route.map(({ x }) => x));
    if (label.width > 0) xs.push(label.x, label.x + label.width);
  }
  if (xs.length === 0) return { boxes, lines, width: 2 * PAD, height: 2 * PAD };
  const [left, top] = [Math.min(...xs) - PAD, Math.min(...ys) - PAD];
  return {
    ...move({ boxes, lines }, { x: -left, y: -top }),
    width: Math.ceil(Math.max(...xs) - left + PAD),
    height: Math.ceil(Math.max(...ys) - top + PAD),
  };
}

/** Adds the content of the loops, centred in their boxes. */
function withInside(chart: FlowChart, loops: ReadonlyMap<string, FlowChart>): FlowChart {
  const all = [chart, ...[...loops].map(([place, inside]) => move(inside, corner(chart, place, inside)))];
  return {
    ...chart,
    boxes: new Map(all.flatMap(({ boxes }) => [...boxes])),
    lines: new Map(all.flatMap(({ lines }) => [...lines])),
  };
}

function corner({ boxes }: FlowChart, place: string, inside: FlowChart): Point {
  const { x, y, width } = boxes.get(place) ?? { x: 0, y: 0, width: 0 };
  return { x: x + (width - inside.width) / 2, y: y + TITLE };
}

function move({ boxes, lines }: Positions, by: Point): Positions {
  const moved = (rect: Rect): Rect => ({ ...rect, x: rect.x + by.x, y: rect.y + by.y });
  return {
    boxes: new Map([...boxes].map(([place, box]) => [place, moved(box)])),
    lines: new Map(
      [...lines].map(([arrow, { route, label }]) => [
        arrow,
        {
          // The vertical pieces of the route (routes.ts).
          route: route.map(({ x, from, to }) => ({ x: x + by.x, from: from + by.y, to: to + by.y })),
          label: moved(label),
        },
      ]),
    ),
  };
}
