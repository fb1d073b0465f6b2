// Shows a node of a flow, with its connections. For a run it also shows state, input, output, members (agents
// of a fleet in the node) and steps.

import type { MemberRecord, NodeRecord, StepRecord } from '../../../http/api/run-shapes.ts';
import { clock } from '../format.ts';
import { Pill } from '../pill.tsx';
import { cardsOf } from '../runs/state.ts';
import { StepCard } from '../runs/step-cards.tsx';
import { Fact } from '../tabs/fact.tsx';
import { readableJson } from '../visible-text.ts';
import { arrowText, type ChartNode, type FlowArrow, type FlowParts } from './graph.ts';
import { MemberList } from './member-list.tsx';
import { arrowReason, nodeState, tookText, waitingFor } from './node-text.ts';

/**
 * Step kinds that the node's list of steps omits: the pane shows their content in its other parts. `again` is
 * a failure with a later retry; `kept` only stores a state, without text.
 */
const NODE_STEP_KINDS: ReadonlySet<string> = new Set([
  'entered',
  'left',
  'failed',
  'turn',
  'again',
  'waits',
  'parked',
  'kept',
]);

export interface RunOfFlow {
  readonly nodes: ReadonlyMap<string, NodeRecord>;
  readonly members: ReadonlyMap<string, MemberRecord>;
  readonly steps: readonly StepRecord[];
  readonly isOver: boolean;
  readonly now: number;
}

interface NodePaneProps {
  readonly node: ChartNode;
  readonly parts: FlowParts;
  /** Undefined if a definition is displayed, not a run. */
  readonly run: RunOfFlow | undefined;
}

export function NodePane({ node, parts, run }: NodePaneProps) {
  const { place, id, type, description } = node;
  // `place` is the path without iteration numbers; the `path` of a row contains these numbers.
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
            <Fact name="from">
              <Arrows arrows={into} end="source" run={run} />
            </Fact>
          )}
          {out.length > 0 && (
            <Fact name="to">
              <Arrows arrows={out} end="target" run={run} />
            </Fact>
          )}
        </tbody>
      </table>
      {row !== undefined && run !== undefined && <NodeContent row={row} type={type} run={run} />}
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
  const waits = waitingFor(row, type, now);
  const took = tookText(row);
  return (
    <>
      {waits !== undefined && <Fact name="waiting for">{waits}</Fact>}
      {row.why !== null && (
        <Fact name={row.state === 'skipped' ? 'reason' : row.state === 'failed' ? 'error' : 'previous error'}>
          <bdi class={row.state === 'failed' ? 'note' : ''}>{row.why}</bdi>
        </Fact>
      )}
      {row.turn !== null && (
        <Fact name="iteration">{`${row.turn}; its nodes are shown in this iteration`}</Fact>
      )}
      {row.attempts > 1 && <Fact name="attempts">{row.attempts}</Fact>}
      {row.started_at !== null && (
        <Fact name="started">
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
  /** End of the arrows at the other node, whose name is shown. */
  readonly end: 'source' | 'target';
  readonly run: RunOfFlow | undefined;
}

function Arrows({ arrows, end, run }: ArrowsProps) {
  return (
    <>
      {arrows.map((arrow) => (
        <div key={`${arrow.source} ${arrow.target} ${arrow.index ?? 'error'}`}>
          <bdi>{arrow[end]}</bdi> <span class="aside">{arrowText(arrow)}</span>
          {run !== undefined && <span class="aside">{` · ${arrowReason(arrow, run.nodes)}`}</span>}
        </div>
      ))}
    </>
  );
}

/** Input, output, members and steps of the node. */
function NodeContent({
  row,
  type,
  run,
}: {
  readonly row: NodeRecord;
  readonly type: string;
  readonly run: RunOfFlow;
}) {
  // The members' steps are also listed, except steps without text.
  const ownSteps = run.steps.filter(
    ({ part = '', kind }) =>
      (part === row.path && !NODE_STEP_KINDS.has(kind)) ||
      (part.startsWith(`${row.path}/`) && kind !== 'kept'),
  );
  const members = [...run.members.values()].filter(({ path }) => path.startsWith(`${row.path}/`));
  const cards = cardsOf(ownSteps, row.ended_at !== null);
  if (row.state === 'idle' || row.state === 'skipped') return null;
  return (
    <>
      <h3>Input</h3>
      {row.input === null ? <p class="aside">{noInput(type)}</p> : <pre>{readableJson(row.input)}</pre>}
      <h3>Output</h3>
      {row.output === null ? (
        <p class="aside">{row.ended_at === null ? 'None yet.' : 'None.'}</p>
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
  if (type === 'Agent' || type === 'Fleet') return 'Not recorded: this agent or fleet keeps no journal.';
  if (type === 'Approval') return 'See the approvals.';
  return 'Not recorded: it follows from the parameters and the outputs of previous nodes.';
}
