// Table of cluster nodes, in place of the state chart.

import type { ClusterNumbers } from '../../wire/feed.ts';
import { span } from '../format.ts';
import { differingFields, differsFromOwn } from '../node-differences.ts';
import { Pill } from '../pill.tsx';

interface NodesPaneProps {
  readonly cluster: ClusterNumbers | null | undefined;
  /** Name of the selected node. */
  readonly selected: string | undefined;
}

export function NodesPane({ cluster, selected }: NodesPaneProps) {
  if (cluster === null)
    return <p class="empty">This gateway is a single node: it does not share its store.</p>;
  if (cluster === undefined) return <p class="empty">Loading …</p>;
  const { nodes, own, stale_seconds } = cluster;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable
    <div class="scroll details" id="nodes" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {['node', 'state', 'epoch', 'version', 'configuration'].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {nodes.map((node) => (
            <tr
              key={node.epoch}
              data-row={node.name}
              aria-current={node.name === selected ? 'true' : undefined}
            >
              <th scope="row">
                <bdi>{node.name}</bdi>
                {node.name === own && ' (this node)'}
              </th>
              <td>
                <Pill state={node.state} />
              </td>
              <td>{node.epoch}</td>
              <td>{node.version ?? '–'}</td>
              <td>
                {node.config_hash ?? '–'}
                {differsFromOwn(node, cluster) && ' · differs'}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {differingFields(nodes).map((field) => (
        <p class="empty" key={field}>{`The nodes differ in their ${field}.`}</p>
      ))}
      {stale_seconds !== undefined && (
        <p class="empty">{`The database does not respond; the list is ${span(stale_seconds * 1_000)} old.`}</p>
      )}
      {selected !== undefined && !nodes.some(({ name }) => name === selected) && (
        <p class="empty">
          <bdi>{selected}</bdi> is not there any more.
        </p>
      )}
    </div>
  );
}
