// Shows a flow: graph, list of nodes, and the selected node. Initially the node of a run is selected that
// waits for persons, otherwise a running or failed node.

import { useMemo, useState } from 'preact/hooks';
import type { NodeRecord } from '../../../http/api/run-shapes.ts';
import type { GraphRecord } from '../../../http/api/target-shapes.ts';
import { Pill } from '../pill.tsx';
import { type ChartNode, partsOf } from './graph.ts';
import { FlowPicture } from './graph-view.tsx';
import { NodePane, type RunOfFlow } from './node-pane.tsx';
import { nodeLine, nodeState, summary, turnText, waitingFor } from './node-text.ts';

interface FlowViewProps {
  readonly name: string;
  readonly graph: GraphRecord;
  /** Undefined if a definition is displayed, not a run. */
  readonly run?: RunOfFlow | undefined;
}

const NO_NODES: ReadonlyMap<string, NodeRecord> = new Map();

export function FlowView({ name, graph, run }: FlowViewProps) {
  const parts = useMemo(() => partsOf(graph), [graph]);
  const [selection, setSelection] = useState<string>();
  const nodes = run?.nodes ?? NO_NODES;
  const selected = selection ?? initialNode(parts.nodes, nodes);
  const node = parts.nodes.find(({ place }) => place === selected);
  if (parts.nodes.length === 0) return <p class="empty">The definition has no readable nodes.</p>;
  const { isOver = false, now = 0 } = run ?? {};
  return (
    <div class="flow-view">
      <div class="flow-box">
        <FlowPicture
          name={name}
          parts={parts}
          nodes={nodes}
          isOver={isOver}
          now={now}
          selected={node?.place}
          onSelect={(place) => setSelection(place)}
        />
      </div>
      {run !== undefined && (
        <p class="foot" role="status">
          {summary(
            parts.nodes.map(({ place }) => nodes.get(place)),
            isOver,
          )}
        </p>
      )}
      {node === undefined ? (
        <p class="empty">
          {run === undefined
            ? 'Select a node to see its connections.'
            : 'Select a node to see its input and output.'}
        </p>
      ) : (
        <NodePane key={node.place} node={node} parts={parts} run={run} />
      )}
      <details class="nodes" open={run !== undefined}>
        <summary>All nodes</summary>
        <ul aria-label="Nodes">
          {parts.nodes.map((each) => (
            <NodeLine
              key={each.place}
              node={each}
              run={run}
              isSelected={each.place === selected}
              onSelect={() => setSelection(each.place)}
            />
          ))}
        </ul>
      </details>
    </div>
  );
}

/** Returns the node that waits for persons, otherwise the innermost active node, otherwise a failed node. */
function initialNode(
  order: readonly ChartNode[],
  nodes: ReadonlyMap<string, NodeRecord>,
): string | undefined {
  const rows = order.flatMap(({ place }) => nodes.get(place) ?? []);
  const byDepth = (a: NodeRecord, b: NodeRecord) => b.place.split('/').length - a.place.split('/').length;
  const row =
    rows.find(({ state, for_people }) => state === 'waiting' && for_people) ??
    rows.filter(({ state }) => state === 'working' || state === 'waiting').sort(byDepth)[0] ??
    rows.find(({ state }) => state === 'failed');
  return row?.place;
}

interface LineProps {
  readonly node: ChartNode;
  readonly run: RunOfFlow | undefined;
  readonly isSelected: boolean;
  onSelect(): void;
}

function NodeLine({ node, run, isSelected, onSelect }: LineProps) {
  const { place, type } = node;
  const row = run?.nodes.get(place);
  const depth = place.split('/').length - 1;
  const more = row && run && [waitingFor(row, type, run.now) ?? '', row.why ?? '', turnText(row) ?? ''];
  return (
    <li style={{ paddingInlineStart: `${depth * 18}px` }} data-node={place}>
      <button type="button" aria-pressed={isSelected} onClick={onSelect}>
        {node.id}
      </button>{' '}
      <span class="aside">{type}</span> {run !== undefined && <Pill state={nodeState(row, run.isOver)} />}{' '}
      {row !== undefined && run !== undefined && (
        <span class="aside">
          <bdi>{more?.filter((text) => text !== '').join(' · ') || timeOf(row, run)}</bdi>
        </span>
      )}
    </li>
  );
}

/** Returns the parts of the node's line after sign and state: duration, attempt or deadline. */
function timeOf(row: NodeRecord, { isOver, now }: RunOfFlow): string {
  return nodeLine(row, isOver, now).split(' · ').slice(1).join(' · ');
}
