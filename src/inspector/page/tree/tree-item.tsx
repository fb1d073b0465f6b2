// Frame of a row in the tree: role, level, position, selection, indentation, and the fold of a group.

import type { ComponentChildren } from 'preact';

/** Indentation per level, in pixels. */
const INDENT = 14;

export interface SelectableProps {
  readonly isSelected: boolean;
  onSelect(): void;
}

interface TreeItemFrameProps extends SelectableProps {
  /** 1 is the root. */
  readonly level: number;
  /** Position among the siblings, if not all of them are rendered. */
  readonly position?: { readonly index: number; readonly count: number };
  /** Set for rows that may have children. `isExpanded` is undefined without children. */
  readonly fold?: { readonly isExpanded: boolean | undefined; onToggle?(): void };
  readonly title?: string | undefined;
  /** Data attributes, by which tests and styles find the row. */
  readonly data: Readonly<Record<`data-${string}`, string | number | undefined>>;
  readonly children: ComponentChildren;
}

export function TreeItem({
  level,
  position,
  fold,
  title,
  data,
  isSelected,
  onSelect,
  children,
}: TreeItemFrameProps) {
  return (
    // The tree element handles the keyboard, as ARIA recommends.
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles keys
    <div
      class={`row ${isSelected ? 'selected' : ''}`}
      role="treeitem"
      tabIndex={-1}
      id={isSelected ? 'selected-row' : undefined}
      aria-level={level}
      aria-setsize={position?.count}
      aria-posinset={position && position.index + 1}
      aria-selected={isSelected}
      aria-expanded={fold?.isExpanded}
      title={title}
      {...data}
      onClick={onSelect}
    >
      <span style={{ width: `${(level - 1) * INDENT}px` }} class="indent" />
      {fold !== undefined && <Fold {...fold} />}
      {children}
    </div>
  );
}

function Fold({ isExpanded, onToggle }: NonNullable<TreeItemFrameProps['fold']>) {
  const canToggle = isExpanded !== undefined && onToggle !== undefined;
  return (
    <span
      class="fold"
      aria-hidden="true"
      onClick={(event) => {
        if (!canToggle) return;
        event.stopPropagation();
        onToggle();
      }}
    >
      {canToggle ? (isExpanded ? '▾' : '▸') : ''}
    </span>
  );
}
