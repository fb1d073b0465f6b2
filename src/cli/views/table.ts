// Formats tables for a terminal. Text is cut before it is coloured: a row never needs two lines, and a colour
// is always reset.

import { printable } from '../../terminal/terminal-text.ts';

export interface Column<Row> {
  readonly title: string;
  /** Aligns the column to the right. */
  readonly isNumber?: boolean;
  text(row: Row): string;
  /** Colours a cell. `text` is already padded and cut. */
  paint?(row: Row, text: string): string;
}

/** Returns the title line and a line per row. No line is longer than `width`. */
export function table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number = Number.POSITIVE_INFINITY,
): string[] {
  const texts = rows.map((row) => columns.map((column) => printable(column.text(row))));
  const widths = columns.map(({ title }, at) =>
    texts.reduce((widest, cells) => Math.max(widest, cells[at]?.length ?? 0), title.length),
  );
  const padded = (text: string, at: number): string => {
    const size = widths[at] ?? 0;
    if (columns[at]?.isNumber === true) return text.padStart(size);
    // The last column needs no padding.
    return at === columns.length - 1 ? text : text.padEnd(size);
  };
  const titles = columns.map(({ title }, at) => padded(title, at));
  return [
    cut(titles, width).join(GAP).trimEnd(),
    ...rows.map((row, line) => {
      const cells = cut((texts[line] ?? []).map(padded), width);
      return cells.map((text, at) => columns[at]?.paint?.(row, text) ?? text).join(GAP);
    }),
  ].map((line) => line.trimEnd());
}

const GAP = '  ';

/** Returns the cells that fit. Shortens the last of them. */
function cut(cells: readonly string[], width: number): string[] {
  const fitting: string[] = [];
  let left = width;
  for (const cell of cells) {
    if (left <= 0) break;
    fitting.push(cell.slice(0, left));
    left -= cell.length + GAP.length;
  }
  return fitting;
}
