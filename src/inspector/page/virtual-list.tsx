// A list of which only the rows in sight are in the document, so that its length costs nothing. All rows have one height.

import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

const SPARE = 6;

export interface VirtualListProps<T> {
  readonly items: readonly T[];
  readonly rowHeight: number;
  readonly row: (item: T, index: number) => ComponentChildren;
  /** A row that is to be brought into sight each time its key is another; not when rows only move. */
  readonly reveal?: { readonly key: string; readonly index: number };
  readonly attributes?: JSX.HTMLAttributes<HTMLDivElement>;
}

export function VirtualList<T>({ items, rowHeight, row, reveal, attributes }: VirtualListProps<T>) {
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
  const first = Math.max(0, Math.min(Math.floor(top / rowHeight) - SPARE, items.length - 1));
  const last = Math.min(items.length, Math.ceil((top + height) / rowHeight) + SPARE);
  return (
    <div {...attributes} ref={box} class="scroll" onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
      <div class="rows" style={{ height: `${items.length * rowHeight}px` }}>
        <div style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {items.slice(first, last).map((item, index) => row(item, first + index))}
        </div>
      </div>
    </div>
  );
}
