// One node of a flow: what it got and gave, what led to it and on from it, and in a run what was done within it.

import type { MemberRecord, NodeRecord, StepRecord } from '../../../http/api/run-shapes.ts';
import { Pill } from '../pill.tsx';
import { cardsOf } from '../runs/run-state.ts';
import { StepCard } from '../runs/step-cards.tsx';
import { Fact } from '../tabs/fact.tsx';
import { readableJson } from '../visible-text.ts';
import { clock } from '../words.ts';
import { arrowText, type FlowArrow, type FlowNode, type FlowParts } from './flow-graph.ts';
import { MemberList } from './member-list.tsx';
import { arrowWords, nodeState, nodeWaits, tookText } from './node-words.ts';

/** Rows that say of a node what stands above its steps already. */
const ofNode: ReadonlySet<string> = new Set([
  'entered',
  'left',
  'failed',
  'turn',
  'again',
  'waits',
  'parked',
  'kept',
]);

export interface ShownFlowRun {
  readonly nodes: ReadonlyMap<string, NodeRecord>;
  readonly members: ReadonlyMap<string, MemberRecord>;
  readonly steps: readonly StepRecord[];
  readonly isOver: boolean;
  readonly now: number;
}

interface NodePaneProps {
  readonly node: FlowNode;
  readonly parts: FlowParts;
  /** Undefined for a flow that is no run. */
  readonly run: ShownFlowRun | undefined;
}

export function NodePane({ node, parts, run }: NodePaneProps) {
  const { place, id, type, description } = node;
  const row = run?.nodes.get(place);
  const into = parts.arrows.filter(({ target }) => target === place);
  const out = parts.arrows.filter(({ source }) => source === place);
  return (
    <section class="node-pane" aria-label={`Node ${id}`}>
      <h2>
        <bdi>{id}</bdi> <span class="aside">{type}</span>{' '}
        {run !== undefined && <Pill state={nodeState(row, run.isOver)} />}
      </h2>
      {description !== null && (
        <p>
          <bdi>{description}</bdi>
        </p>
      )}
      <table>
        <tbody>
          {row !== undefined && run !== undefined && <RunFacts row={row} type={type} now={run.now} />}
          {into.length > 0 && (
            <Fact name="comes after">
              <Arrows arrows={into} end="source" run={run} />
            </Fact>
          )}
          {out.length > 0 && (
            <Fact name="leads to">
              <Arrows arrows={out} end="target" run={run} />
            </Fact>
          )}
        </tbody>
      </table>
      {row !== undefined && run !== undefined && <Given row={row} type={type} run={run} />}
    </section>
  );
}

function RunFacts({
  row,
  type,
  now,
}: {
  readonly row: NodeRecord;
  readonly type: string;
  readonly now: number;
}) {
  const waits = nodeWaits(row, type, now);
  const took = tookText(row);
  return (
    <>
      {waits !== undefined && <Fact name="waits for">{waits}</Fact>}
      {row.why !== null && (
        <Fact
          name={
            row.state === 'skipped'
              ? 'skipped because'
              : row.state === 'failed'
                ? 'failed because'
                : 'failed before'
          }
        >
          <bdi class={row.state === 'failed' ? 'note' : ''}>{row.why}</bdi>
        </Fact>
      )}
      {row.turn !== null && (
        <Fact name="turn">{`${row.turn}: its nodes are shown as they are in this one`}</Fact>
      )}
      {row.attempts > 1 && <Fact name="attempts">{row.attempts}</Fact>}
      {row.started_at !== null && (
        <Fact name="began">
          {clock(row.started_at)}
          {row.ended_at !== null && `, ended ${clock(row.ended_at)}`}
          {took !== undefined && `, ${took}`}
        </Fact>
      )}
    </>
  );
}

interface ArrowsProps {
  readonly arrows: readonly FlowArrow[];
  /** At which the other node is. */
  readonly end: 'source' | 'target';
  readonly run: ShownFlowRun | undefined;
}

function Arrows({ arrows, end, run }: ArrowsProps) {
  return (
    <>
      {arrows.map((arrow) => (
        <div key={`${arrow.source} ${arrow.target} ${arrow.index ?? 'error'}`}>
          <bdi>{arrow[end]}</bdi> <span class="aside">{arrowText(arrow)}</span>
          {run !== undefined && <span class="aside">{` · ${arrowWords(arrow, run.nodes)}`}</span>}
        </div>
      ))}
    </>
  );
}

/** What it got and gave, and its steps. */
function Given({
  row,
  type,
  run,
}: {
  readonly row: NodeRecord;
  readonly type: string;
  readonly run: ShownFlowRun;
}) {
  const own = run.steps.filter(
    ({ part = '', kind }) =>
      (part === row.path && !ofNode.has(kind)) || (part.startsWith(`${row.path}/`) && kind !== 'kept'),
  );
  const members = [...run.members.values()].filter(({ path }) => path.startsWith(`${row.path}/`));
  const cards = cardsOf(own, row.ended_at !== null);
  if (row.state === 'idle' || row.state === 'skipped') return null;
  return (
    <>
      <h3>Got</h3>
      {row.input === null ? <p class="aside">{noInput(type)}</p> : <pre>{readableJson(row.input)}</pre>}
      <h3>Gave</h3>
      {row.output === null ? (
        <p class="aside">{row.ended_at === null ? 'Nothing yet.' : 'Nothing.'}</p>
      ) : (
        <pre>{readableJson(row.output)}</pre>
      )}
      {members.length > 0 && (
        <>
          <h3>Members</h3>
          <MemberList members={members} isOver={run.isOver} fleet={undefined} />
        </>
      )}
      {cards.length > 0 && (
        <>
          <h3>Steps</h3>
          <ol class="steps" aria-label="Steps of the node">
            {cards.map((card) => (
              <StepCard key={card.n} card={card} />
            ))}
          </ol>
        </>
      )}
    </>
  );
}

function noInput(type: string): string {
  if (type === 'Agent' || type === 'Fleet')
    return 'Whoever answers here keeps no journal, so what was asked is not known.';
  if (type === 'Approval') return 'What was asked stands among the approvals.';
  return 'What its templates came to is not kept; it follows from the parameters and from what the nodes before it gave.';
}
