// The line of an arrow as SVG has it.

import type { Point } from './chart-layout.ts';

/** Through the points with round corners. */
export function smooth(points: readonly Point[]): string {
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
