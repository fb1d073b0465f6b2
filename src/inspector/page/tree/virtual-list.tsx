// List that renders only the visible rows. All rows have the same height, which depends on the width of the
// list: in a narrow list (class `narrow`) each row has several lines.

import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Number of additional rows above and below the visible rows, so that scrolling shows no gaps. */
const SPARE = 6;

/** Row heights, in pixels. */
export interface RowHeights {
  readonly narrow: number;
  readonly wide: number;
  /** Minimum width of a wide list. */
  readonly wideFrom: number;
}

export interface VirtualListProps {
  readonly length: number;
  readonly rowHeights: RowHeights;
  readonly row: (index: number) => ComponentChildren;
  /** Called with the range of rendered rows, `last` exclusive, after each change. */
  readonly onRange?: (first: number, last: number) => void;
  /**
   * Row to scroll into view when the key changes, or when its index becomes known (−1: unknown). Other
   * changes of the index do not scroll.
   */
  readonly reveal?: { readonly key: string; readonly index: number };
  readonly attributes?: JSX.HTMLAttributes<HTMLDivElement>;
}

export function VirtualList({ length, rowHeights, row, onRange, reveal, attributes }: VirtualListProps) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  // Until the first measurement, the list has the height of a typical window.
  const [height, setHeight] = useState(600);
  const [isNarrow, setNarrow] = useState(false);
  const { narrow, wide, wideFrom } = rowHeights;
  const rowHeight = isNarrow ? narrow : wide;
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = () => {
      setHeight(element.clientHeight);
      setNarrow(element.offsetWidth < wideFrom);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [wideFrom]);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || reveal === undefined || reveal.index < 0) return;
    const rowTop = reveal.index * rowHeight;
    if (rowTop < element.scrollTop) element.scrollTop = rowTop;
    else if (rowTop + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = rowTop + rowHeight - element.clientHeight;
  }, [reveal?.key, (reveal?.index ?? -1) < 0, rowHeight]);
  const first = Math.max(0, Math.min(Math.floor(top / rowHeight) - SPARE, length - 1));
  const last = Math.max(first, Math.min(length, Math.ceil((top + height) / rowHeight) + SPARE));
  useLayoutEffect(() => onRange?.(first, last), [first, last, onRange]);
  return (
    <div
      {...attributes}
      ref={box}
      class={isNarrow ? 'scroll narrow' : 'scroll'}
      style={{ '--row': `${rowHeight}px` }}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <div class="rows" style={{ height: `${length * rowHeight}px` }}>
        <div style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {Array.from({ length: last - first }, (_, index) => row(first + index))}
        </div>
      </div>
    </div>
  );
}
