// SVG path for arrows.

import type { Point } from './layout.ts';

/** Returns a path through the points, with round corners. */
export function curvePath(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return '';
  const last = rest.at(-1) ?? first;
  const curves = rest.slice(0, -1).map((point, index) => {
    const next = rest[index + 1] ?? last;
    const isEnd = index === rest.length - 2;
    const to = isEnd ? next : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    return `Q${round(point)} ${round(to)}`;
  });
  return `M${round(first)}${curves.length > 0 ? curves.join('') : `L${round(last)}`}`;
}

function round({ x, y }: Point): string {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}
