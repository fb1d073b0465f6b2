// Tree rows: one per node, and the group of nodes.

import type { NodeStatus } from '../../../http/api/node-shapes.ts';
import type { ClusterNumbers } from '../../wire/feed.ts';
import { differingFields, differsFromOwn } from '../node-differences.ts';
import { RowText } from './row-text.tsx';

interface LineProps {
  readonly isSelected: boolean;
  onSelect(): void;
}

export function NodesRow({
  nodes,
  isSelected,
  onSelect,
}: LineProps & { readonly nodes: readonly NodeStatus[] }) {
  return (
    // The tree element handles the keyboard, as ARIA recommends.
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles keys
    <div
      class={`row ${isSelected ? 'selected' : ''}`}
      role="treeitem"
      tabIndex={-1}
      id={isSelected ? 'selected-row' : undefined}
      aria-level={2}
      aria-selected={isSelected}
      aria-expanded={true}
      data-name="nodes"
      onClick={onSelect}
    >
      <span style={{ width: '14px' }} class="indent" />
      <span class="fold" aria-hidden="true" />
      <RowText name={`nodes (${nodes.length})`} title="nodes">
        {differingFields(nodes).length > 0 && <span class="notice">differ</span>}
      </RowText>
    </div>
  );
}

interface NodeLineProps extends LineProps {
  readonly node: NodeStatus;
  readonly index: number;
  readonly count: number;
  readonly cluster: ClusterNumbers;
}

export function NodeLine({ node, index, count, cluster, isSelected, onSelect }: NodeLineProps) {
  const { name, state, version, config_hash } = node;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles keys
    <div
      class={`row ${isSelected ? 'selected' : ''}`}
      role="treeitem"
      tabIndex={-1}
      id={isSelected ? 'selected-row' : undefined}
      aria-level={3}
      aria-setsize={count}
      aria-posinset={index + 1}
      aria-selected={isSelected}
      data-node={name}
      title={`version ${version ?? 'unknown'}, configuration ${config_hash ?? 'unknown'}`}
      onClick={onSelect}
    >
      <span style={{ width: '28px' }} class="indent" />
      <RowText name={name} title={name} state={state}>
        {differsFromOwn(node, cluster) && <span class="notice">differs</span>}
        {name === cluster.own && <span class="aside">this node</span>}
        {config_hash !== null && <span class="aside">{config_hash}</span>}
      </RowText>
    </div>
  );
}
