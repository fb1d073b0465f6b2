// Lists agents with runtime and servers, then fleets (groups of agents) and flows.

import type { AgentServerRecord, LoadedAgent } from '../../../http/api/target-shapes.ts';
import { serverAddress } from '../address.ts';
import { fetchTargets } from '../feed/api.ts';
import { type Go, usePolled } from '../feed/hooks.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { statsLine } from './figures.ts';
import { PlanLists } from './fleets-and-flows.tsx';

const REFRESH_MS = 2_000;

interface AgentsPaneProps {
  /** Name of the selected flow. */
  readonly selected: string | undefined;
  readonly go: Go;
  onRuns(target: string): void;
}

export function AgentsPane({ selected, go, onRuns }: AgentsPaneProps) {
  const { value, problem } = usePolled('agents', fetchTargets, REFRESH_MS);
  return (
    <section class="pane" aria-label="Agents">
      <div class="bar">
        <h1>Agents</h1>
      </div>
      {value === undefined && <p class="empty">{problem ?? 'Loading …'}</p>}
      {value !== undefined && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable
        <div class="scroll" tabIndex={0}>
          {value.agents.length === 0 && (
            <p class="empty">
              No agents are loaded. Add a file with kind: Agent to the folder spec.agents.directory of
              gateway.yaml.
            </p>
          )}
          <ul class="records" aria-label="Agents">
            {value.agents.map((agent) => (
              <Line key={agent.name} agent={agent} go={go} onRuns={onRuns} />
            ))}
          </ul>
          <PlanLists value={value} selected={selected} go={go} onRuns={onRuns} />
        </div>
      )}
    </section>
  );
}

function Line({ agent, go, onRuns }: { readonly agent: LoadedAgent } & Omit<AgentsPaneProps, 'selected'>) {
  const { name, description, model, runtime, servers } = agent;
  return (
    <li data-agent={name}>
      <strong>{name}</strong> <span class="aside">{model ?? (runtime === 'http' ? 'HTTP' : runtime)}</span>{' '}
      {runtime === 'model' && (
        <button type="button" onClick={() => onRuns(`agent ${name}`)}>
          Show runs
        </button>
      )}
      {description !== null && (
        <div>
          <bdi>{description}</bdi>
        </div>
      )}
      <div class="aside">{statsLine(agent.stats)}</div>
      {servers.map((server) => (
        <Server key={server.name} agent={name} server={server} go={go} />
      ))}
    </li>
  );
}

function Server({ agent, server, go }: { agent: string; server: AgentServerRecord; go: Go }) {
  const { name, own, state, last_error } = server;
  return (
    <div>
      {state === null ? (
        name
      ) : (
        <Link to={{ actor: serverAddress(own ? `${agent}/${name}` : name), tab: 'log' }} go={go}>
          {name}
        </Link>
      )}{' '}
      <span class="aside">{own ? 'own server' : 'from the catalog'}</span>{' '}
      {state === null ? (
        <span class="aside">{own ? 'not started' : 'not found'}</span>
      ) : (
        <Pill state={state} />
      )}
      {last_error !== null && (
        <span class="note">
          {' '}
          <bdi>{last_error}</bdi>
        </span>
      )}
    </div>
  );
}
