// The lines of the tree about the nodes of the cluster: the one above all of them, and each.

import type { NodeStatus } from '../../../http/api/node-shapes.ts';
import type { ClusterNumbers } from '../../wire/feed-wire.ts';
import { differingWords, differsFromOwn } from '../node-words.ts';
import { Pill } from '../pill.tsx';

interface LineProps {
  readonly isChosen: boolean;
  onChoose(): void;
}

export function NodesRow({
  nodes,
  isChosen,
  onChoose,
}: LineProps & { readonly nodes: readonly NodeStatus[] }) {
  return (
    // The tree itself has the keyboard, as a tree should.
    // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled by the tree
    <div
      class={`row ${isChosen ? 'chosen' : ''}`}
      role="treeitem"
      tabIndex={-1}
      id={isChosen ? 'chosen-row' : undefined}
      aria-level={2}
      aria-selected={isChosen}
      aria-expanded={true}
      data-name="nodes"
      onClick={onChoose}
    >
      <span style={{ width: '14px' }} class="indent" />
      <span class="fold" aria-hidden="true" />
      <span class="name">nodes ({nodes.length})</span>
      {differingWords(nodes).length > 0 && <span class="again">differ</span>}
    </div>
  );
}

interface NodeLineProps extends LineProps {
  readonly node: NodeStatus;
  readonly index: number;
  readonly count: number;
  readonly cluster: ClusterNumbers;
}

export function NodeLine({ node, index, count, cluster, isChosen, onChoose }: NodeLineProps) {
  const { name, state, version, config_hash } = node;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled by the tree
    <div
      class={`row ${isChosen ? 'chosen' : ''}`}
      role="treeitem"
      tabIndex={-1}
      id={isChosen ? 'chosen-row' : undefined}
      aria-level={3}
      aria-setsize={count}
      aria-posinset={index + 1}
      aria-selected={isChosen}
      data-node={name}
      title={`version ${version ?? 'unknown'}, configuration ${config_hash ?? 'unknown'}`}
      onClick={onChoose}
    >
      <span style={{ width: '28px' }} class="indent" />
      <span class="name">
        <bdi>{name}</bdi>
      </span>
      {name === cluster.own && <span class="aside">this one</span>}
      {differsFromOwn(node, cluster) && <span class="again">differs</span>}
      <span class="aside extra">{config_hash ?? ''}</span>
      <Pill state={state} />
    </div>
  );
}
