// Routes of a flow's arrows: vertical pieces through the ranks (rows of boxes), with curves between ranks
// (FL1, layout.ts).

import type { Point, Rect } from '../chart/layout.ts';

/** Vertical piece at `x`, in the direction of the arrow. */
interface Piece {
  readonly x: number;
  readonly from: number;
  readonly to: number;
}

export type EdgeRoute = readonly Piece[];

export interface PlacedEdge {
  readonly source: string;
  readonly target: string;
  /** Positions in the ranks between source and target, on the centre lines of the ranks. */
  readonly bends: readonly Point[];
  /** Without height if the arrow has no label. */
  readonly label: Rect;
}

/** Vertical extent of a rank. */
interface Band {
  readonly top: number;
  readonly bottom: number;
}

type Side = 'top' | 'bottom';

/** One end of an edge at a side of a box. */
interface End {
  readonly box: Rect;
  readonly side: Side;
  /** Position of the next bend, or of the other box. */
  readonly towards: number;
  /** Set when all end points at the side are known. */
  x: number;
}

/** Returns a route per edge. Routes do not share end points at the border of a box. */
export function routesOf(boxes: ReadonlyMap<string, Rect>, edges: readonly PlacedEdge[]): EdgeRoute[] {
  const bands = bandsOf([...boxes.values(), ...edges.map(({ label }) => label)]);
  const bandAt = (y: number): Band => bands.get(Math.round(y)) ?? { top: y, bottom: y };
  const ends = edges.map((edge) => endsOf(edge, boxes));
  distribute(ends.flatMap((pair) => pair ?? []));
  return edges.map(({ bends }, index): EdgeRoute => {
    const [source, target] = ends[index] ?? [];
    if (source === undefined || target === undefined) return [];
    const through = (y: number, x: number): Piece => {
      const { top, bottom } = bandAt(y);
      return source.side === 'bottom' ? { x, from: top, to: bottom } : { x, from: bottom, to: top };
    };
    return [
      { ...through(middleOf(source.box), source.x), from: borderOf(source) },
      ...bends.map(({ x, y }) => through(y, x)),
      { ...through(middleOf(target.box), target.x), to: borderOf(target) },
    ];
  });
}

/** Returns the SVG path. A curve stays between the end points of the two pieces. */
export function routePath(route: EdgeRoute): string {
  return route
    .map(({ x, from, to }, index) => {
      const before = route[index - 1];
      const middle = before === undefined ? from : (before.to + from) / 2;
      const start =
        before === undefined
          ? `M${point(x, from)}`
          : `C${point(before.x, middle)} ${point(x, middle)} ${point(x, from)}`;
      return to === from ? start : `${start}L${point(x, to)}`;
    })
    .join('');
}

const point = (x: number, y: number): string => `${x.toFixed(1)} ${y.toFixed(1)}`;

const middleOf = ({ y, height }: Rect): number => y + height / 2;

const borderOf = ({ box, side }: End): number => (side === 'top' ? box.y : box.y + box.height);

/** Returns the bands of the ranks by their rounded centre lines. */
function bandsOf(rects: readonly Rect[]): ReadonlyMap<number, Band> {
  const bands = new Map<number, Band>();
  for (const rect of rects.filter(({ height }) => height > 0)) {
    const centre = Math.round(middleOf(rect));
    const { top, bottom } = bands.get(centre) ?? { top: rect.y, bottom: rect.y };
    bands.set(centre, { top: Math.min(top, rect.y), bottom: Math.max(bottom, rect.y + rect.height) });
  }
  return bands;
}

/** Returns the end points at source and target. An edge that closes a cycle leads upwards. */
function endsOf(
  { source, target, bends }: PlacedEdge,
  boxes: ReadonlyMap<string, Rect>,
): [End, End] | undefined {
  const [from, to] = [boxes.get(source), boxes.get(target)];
  if (from === undefined || to === undefined) return undefined;
  const isUp = middleOf(to) < middleOf(from);
  const xOf = (bend: Point | undefined, { x, width }: Rect) => bend?.x ?? x + width / 2;
  return [
    { box: from, side: isUp ? 'top' : 'bottom', towards: xOf(bends[0], to), x: 0 },
    { box: to, side: isUp ? 'bottom' : 'top', towards: xOf(bends.at(-1), from), x: 0 },
  ];
}

/** Distributes the end points evenly along the sides of the boxes, in the order of their bends. */
function distribute(ends: readonly End[]): void {
  const atSide = new Map<Rect, Record<Side, End[]>>();
  for (const end of ends) {
    const sides = atSide.get(end.box) ?? { top: [], bottom: [] };
    sides[end.side].push(end);
    atSide.set(end.box, sides);
  }
  for (const [{ x, width }, sides] of atSide)
    for (const all of Object.values(sides)) {
      all.sort((a, b) => a.towards - b.towards);
      all.forEach((end, index) => {
        end.x = x + (width * (index + 1)) / (all.length + 1);
      });
    }
}
