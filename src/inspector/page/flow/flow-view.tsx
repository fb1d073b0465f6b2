// A flow: its graph, all of its nodes as a list, and the one that is chosen. In a run it fills while that goes on; while nobody has chosen a
// node, that one is shown which needs somebody, or works.

import { useMemo, useState } from 'preact/hooks';
import type { NodeRecord } from '../../../http/api/run-shapes.ts';
import type { GraphRecord } from '../../../http/api/target-shapes.ts';
import { Pill } from '../pill.tsx';
import { type FlowNode, partsOf } from './flow-graph.ts';
import { FlowPicture } from './flow-picture.tsx';
import { NodePane, type ShownFlowRun } from './node-pane.tsx';
import { nodeLine, nodeState, nodeWaits, summary, turnText } from './node-words.ts';

interface FlowViewProps {
  readonly name: string;
  readonly graph: GraphRecord;
  /** Undefined for a flow that is no run. */
  readonly run?: ShownFlowRun | undefined;
}

const NONE: ReadonlyMap<string, NodeRecord> = new Map();

export function FlowView({ name, graph, run }: FlowViewProps) {
  const parts = useMemo(() => partsOf(graph), [graph]);
  const [wanted, setWanted] = useState<string>();
  const nodes = run?.nodes ?? NONE;
  const chosen = wanted ?? telling(parts.nodes, nodes);
  const node = parts.nodes.find(({ place }) => place === chosen);
  if (parts.nodes.length === 0) return <p class="empty">Its definition has no nodes that can be read.</p>;
  const { isOver = false, now = 0 } = run ?? {};
  return (
    <div class="flow-view">
      <div class="flow-box">
        <FlowPicture
          {...{ name, parts, nodes, isOver, now, chosen: node?.place }}
          onChoose={(place) => setWanted(place)}
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
            ? 'Choose a node to see what leads to it.'
            : 'Choose a node to see what it got and gave.'}
        </p>
      ) : (
        <NodePane key={node.place} node={node} parts={parts} run={run} />
      )}
      <details class="nodes" open={run !== undefined}>
        <summary>All nodes</summary>
        <ul aria-label="Nodes">
          {parts.nodes.map((each) => (
            <Line
              key={each.place}
              node={each}
              run={run}
              isChosen={each.place === chosen}
              onChoose={() => setWanted(each.place)}
            />
          ))}
        </ul>
      </details>
    </div>
  );
}

/** Who waits for people, then who failed last, then who works or waits. */
function telling(order: readonly FlowNode[], nodes: ReadonlyMap<string, NodeRecord>): string | undefined {
  const rows = order.flatMap(({ place }) => nodes.get(place) ?? []);
  const inner = (a: NodeRecord, b: NodeRecord) => b.place.split('/').length - a.place.split('/').length;
  const found =
    rows.find(({ state, for_people }) => state === 'waiting' && for_people) ??
    rows.filter(({ state }) => state === 'working' || state === 'waiting').sort(inner)[0] ??
    rows.find(({ state }) => state === 'failed');
  return found?.place;
}

interface LineProps {
  readonly node: FlowNode;
  readonly run: ShownFlowRun | undefined;
  readonly isChosen: boolean;
  onChoose(): void;
}

function Line({ node, run, isChosen, onChoose }: LineProps) {
  const { place, type } = node;
  const row = run?.nodes.get(place);
  const depth = place.split('/').length - 1;
  const more = row && run && [nodeWaits(row, type, run.now) ?? '', row.why ?? '', turnText(row) ?? ''];
  return (
    <li style={{ paddingInlineStart: `${depth * 18}px` }} data-node={place}>
      <button type="button" aria-pressed={isChosen} onClick={onChoose}>
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

/** What its line has beside the state. */
function timeOf(row: NodeRecord, { isOver, now }: ShownFlowRun): string {
  return nodeLine(row, isOver, now).split(' · ').slice(1).join(' · ');
}
