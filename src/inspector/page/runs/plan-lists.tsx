// The fleets with their members, and the flows: what each has done since the start.

import type { FleetRecord, FlowRecord, Loaded } from '../../../http/api/target-shapes.ts';
import { flowView } from '../address.ts';
import type { Targets } from '../feed/api.ts';
import type { Go } from '../feed/hooks.ts';
import { fleetWords } from '../flow/fleet-words.ts';
import { Link } from '../link.tsx';
import { counted } from '../words.ts';
import { doneLine } from './run-words.ts';

interface PlanListsProps {
  readonly value: Targets;
  /** The flow that stands beside. */
  readonly chosen: string | undefined;
  readonly go: Go;
  onRuns(whom: string): void;
}

export function PlanLists({ value, chosen, go, onRuns }: PlanListsProps) {
  const { fleets, flows } = value;
  return (
    <>
      <h2>Fleets</h2>
      {fleets.length === 0 && (
        <p class="empty">
          No fleets are loaded. A fleet is a file with kind: Fleet: several agents that come to one answer.
        </p>
      )}
      <ul class="records" aria-label="The fleets">
        {fleets.map((fleet) => (
          <FleetLine key={fleet.name} fleet={fleet} onRuns={onRuns} />
        ))}
      </ul>
      <h2>Flows</h2>
      {flows.length === 0 && (
        <p class="empty">
          No flows are loaded. A flow is a file with kind: Flow: steps, and what leads from one to the other.
        </p>
      )}
      <ul class="records" aria-label="The flows">
        {flows.map((flow) => (
          <FlowLine key={flow.name} flow={flow} isChosen={flow.name === chosen} go={go} onRuns={onRuns} />
        ))}
      </ul>
    </>
  );
}

function FleetLine({ fleet, onRuns }: { readonly fleet: Loaded<FleetRecord>; onRuns(whom: string): void }) {
  const { name, description, members } = fleet;
  return (
    <li data-fleet={name}>
      <strong>{name}</strong> <span class="aside">{fleetWords(fleet)}</span>{' '}
      <button type="button" onClick={() => onRuns(`fleet ${name}`)}>
        Its runs
      </button>
      <Description text={description} />
      <div class="aside">
        {members
          .map(({ name: member, agent }) =>
            agent === null || agent === member ? member : `${member} (${agent})`,
          )
          .join(', ')}
      </div>
      <div class="aside">{doneLine(fleet.stats)}</div>
    </li>
  );
}

interface FlowLineProps extends Pick<PlanListsProps, 'go' | 'onRuns'> {
  readonly flow: Loaded<FlowRecord>;
  readonly isChosen: boolean;
}

function FlowLine({ flow, isChosen, go, onRuns }: FlowLineProps) {
  const { name, description, nodes_count, parameters } = flow;
  const takes = parameters.length === 0 ? '' : `, takes ${parameters.map((each) => each.name).join(', ')}`;
  return (
    <li data-flow={name} class={isChosen ? 'chosen' : ''}>
      <Link to={flowView(name)} go={go} isCurrent={isChosen}>
        {name}
      </Link>{' '}
      <span class="aside">{`${counted(nodes_count, 'node')}${takes}`}</span>{' '}
      <button type="button" onClick={() => onRuns(`flow ${name}`)}>
        Its runs
      </button>
      <Description text={description} />
      <div class="aside">{doneLine(flow.stats)}</div>
    </li>
  );
}

function Description({ text }: { readonly text: string | null }) {
  if (text === null) return null;
  return (
    <div>
      <bdi>{text}</bdi>
    </div>
  );
}
