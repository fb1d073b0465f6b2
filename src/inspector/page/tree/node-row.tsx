// Tree rows: one per node, and the group of nodes.

import type { NodeStatus } from '../../../http/api/node-shapes.ts';
import type { ClusterNumbers } from '../../wire/feed.ts';
import { differingFields, differsFromOwn } from '../node-differences.ts';
import { RowText } from './row-text.tsx';
import { type SelectableProps, TreeItem } from './tree-item.tsx';

export function NodesRow({
  nodes,
  ...selectable
}: SelectableProps & { readonly nodes: readonly NodeStatus[] }) {
  return (
    <TreeItem level={2} fold={{ isExpanded: true }} data={{ 'data-name': 'nodes' }} {...selectable}>
      <RowText name={`nodes (${nodes.length})`} title="nodes">
        {differingFields(nodes).length > 0 && <span class="notice">differ</span>}
      </RowText>
    </TreeItem>
  );
}

interface NodeLineProps extends SelectableProps {
  readonly node: NodeStatus;
  readonly index: number;
  readonly count: number;
  readonly cluster: ClusterNumbers;
}

export function NodeLine({ node, index, count, cluster, ...selectable }: NodeLineProps) {
  const { name, state, version, config_hash } = node;
  return (
    <TreeItem
      level={3}
      position={{ index, count }}
      title={`version ${version ?? 'unknown'}, configuration ${config_hash ?? 'unknown'}`}
      data={{ 'data-node': name }}
      {...selectable}
    >
      <RowText name={name} title={name} state={state}>
        {differsFromOwn(node, cluster) && <span class="notice">differs</span>}
        {name === cluster.own && <span class="aside">this node</span>}
        {config_hash !== null && <span class="aside">{config_hash}</span>}
      </RowText>
    </TreeItem>
  );
}
