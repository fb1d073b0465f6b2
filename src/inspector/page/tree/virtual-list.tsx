// List that renders only the visible rows. All rows have the same height.

import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

const SPARE = 6;

export interface VirtualListProps {
  readonly length: number;
  readonly rowHeight: number;
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

export function VirtualList({ length, rowHeight, row, onRange, reveal, attributes }: VirtualListProps) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || reveal === undefined || reveal.index < 0) return;
    const at = reveal.index * rowHeight;
    if (at < element.scrollTop) element.scrollTop = at;
    else if (at + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = at + rowHeight - element.clientHeight;
  }, [reveal?.key, (reveal?.index ?? -1) < 0, rowHeight]);
  const first = Math.max(0, Math.min(Math.floor(top / rowHeight) - SPARE, length - 1));
  const last = Math.max(first, Math.min(length, Math.ceil((top + height) / rowHeight) + SPARE));
  useLayoutEffect(() => onRange?.(first, last), [first, last, onRange]);
  return (
    <div {...attributes} ref={box} class="scroll" onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
      <div class="rows" style={{ height: `${length * rowHeight}px` }}>
        <div style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {Array.from({ length: last - first }, (_, index) => row(first + index))}
        </div>
      </div>
    </div>
  );
}
