// Shows lists of fleets (groups of agents, their members) and of flows, with statistics.

import type { FleetRecord, FlowRecord, Loaded } from '../../../http/api/target-shapes.ts';
import { flowView } from '../address.ts';
import type { Targets } from '../feed/api.ts';
import type { Go } from '../feed/hooks.ts';
import { fleetText } from '../flow/fleet-text.ts';
import { pluralize } from '../format.ts';
import { Link } from '../link.tsx';
import { statsLine } from './figures.ts';

interface PlanListsProps {
  readonly value: Targets;
  /** Name of the selected flow. */
  readonly selected: string | undefined;
  readonly go: Go;
  onRuns(target: string): void;
}

export function PlanLists({ value, selected, go, onRuns }: PlanListsProps) {
  const { fleets, flows } = value;
  return (
    <>
      <h2>Fleets</h2>
      {fleets.length === 0 && (
        <p class="empty">
          No fleets are loaded. A fleet combines several agents; add a file with kind: Fleet.
        </p>
      )}
      <ul class="records" aria-label="Fleets">
        {fleets.map((fleet) => (
          <FleetLine key={fleet.name} fleet={fleet} onRuns={onRuns} />
        ))}
      </ul>
      <h2>Flows</h2>
      {flows.length === 0 && (
        <p class="empty">No flows are loaded. A flow connects steps; add a file with kind: Flow.</p>
      )}
      <ul class="records" aria-label="Flows">
        {flows.map((flow) => (
          <FlowLine key={flow.name} flow={flow} isSelected={flow.name === selected} go={go} onRuns={onRuns} />
        ))}
      </ul>
    </>
  );
}

function FleetLine({ fleet, onRuns }: { readonly fleet: Loaded<FleetRecord>; onRuns(target: string): void }) {
  const { name, description, members } = fleet;
  return (
    <li data-fleet={name}>
      <strong>{name}</strong> <span class="aside">{fleetText(fleet)}</span>{' '}
      <button type="button" onClick={() => onRuns(`fleet ${name}`)}>
        Show runs
      </button>
      <Description text={description} />
      <div class="aside">
        {members
          .map(({ name: member, agent }) =>
            agent === null || agent === member ? member : `${member} (${agent})`,
          )
          .join(', ')}
      </div>
      <div class="aside">{statsLine(fleet.stats)}</div>
    </li>
  );
}

interface FlowLineProps extends Pick<PlanListsProps, 'go' | 'onRuns'> {
  readonly flow: Loaded<FlowRecord>;
  readonly isSelected: boolean;
}

function FlowLine({ flow, isSelected, go, onRuns }: FlowLineProps) {
  const { name, description, nodes_count, parameters } = flow;
  const parameterText =
    parameters.length === 0 ? '' : `, parameters ${parameters.map((each) => each.name).join(', ')}`;
  return (
    <li data-flow={name} class={isSelected ? 'selected' : ''}>
      <Link to={flowView(name)} go={go} isCurrent={isSelected}>
        {name}
      </Link>{' '}
      <span class="aside">{`${pluralize(nodes_count, 'node')}${parameterText}`}</span>{' '}
      <button type="button" onClick={() => onRuns(`flow ${name}`)}>
        Show runs
      </button>
      <Description text={description} />
      <div class="aside">{statsLine(flow.stats)}</div>
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
