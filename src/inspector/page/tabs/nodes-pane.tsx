// The nodes of the cluster beside each other. They run no machine here, so they stand where the chart of an actor does.

import type { ClusterNumbers } from '../../wire/feed-wire.ts';
import { differingWords, differsFromOwn } from '../node-words.ts';
import { Pill } from '../pill.tsx';
import { span } from '../words.ts';

interface NodesPaneProps {
  readonly cluster: ClusterNumbers | null | undefined;
  /** Of the one that was chosen; undefined: all alike. */
  readonly chosen: string | undefined;
}

export function NodesPane({ cluster, chosen }: NodesPaneProps) {
  if (cluster === null)
    return <p class="empty">This gateway shares its store with no other, so there are no nodes beside it.</p>;
  if (cluster === undefined) return <p class="empty">Asking …</p>;
  const { nodes, own, stale_seconds } = cluster;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
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
              aria-current={node.name === chosen ? 'true' : undefined}
            >
              <th scope="row">
                <bdi>{node.name}</bdi>
                {node.name === own && ' (this one)'}
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
      {differingWords(nodes).map((word) => (
        <p class="empty" key={word}>{`The nodes differ in their ${word}.`}</p>
      ))}
      {stale_seconds !== undefined && (
        <p class="empty">{`The database does not answer; these are the nodes of ${span(stale_seconds * 1_000)} ago.`}</p>
      )}
      {chosen !== undefined && !nodes.some(({ name }) => name === chosen) && (
        <p class="empty">
          <bdi>{chosen}</bdi> is not there any more.
        </p>
      )}
    </div>
  );
}
