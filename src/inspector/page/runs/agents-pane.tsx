// The agents: who answers for each, and the servers that it takes tools from; the fleets with their members, and the flows.

import type { AgentServerRecord, LoadedAgent } from '../../../http/api/target-shapes.ts';
import { serverAddress } from '../address.ts';
import { targets } from '../feed/api.ts';
import { type Go, useAsked } from '../feed/hooks.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { PlanLists } from './plan-lists.tsx';
import { doneLine } from './run-words.ts';

const REFRESH_MS = 2_000;

interface AgentsPaneProps {
  /** The flow that stands beside. */
  readonly chosen: string | undefined;
  readonly go: Go;
  onRuns(whom: string): void;
}

export function AgentsPane({ chosen, go, onRuns }: AgentsPaneProps) {
  const { value, problem } = useAsked('agents', targets, REFRESH_MS);
  return (
    <section class="pane" aria-label="Agents">
      <div class="bar">
        <h1>Agents</h1>
      </div>
      {value === undefined && <p class="empty">{problem ?? 'Asking …'}</p>}
      {value !== undefined && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
        <div class="scroll" tabIndex={0}>
          {value.agents.length === 0 && (
            <p class="empty">
              No agents are loaded. An agent is a file with kind: Agent in the folder that spec.agents names.
            </p>
          )}
          <ul class="records" aria-label="The agents">
            {value.agents.map((agent) => (
              <Line key={agent.name} agent={agent} go={go} onRuns={onRuns} />
            ))}
          </ul>
          <PlanLists {...{ value, chosen, go, onRuns }} />
        </div>
      )}
    </section>
  );
}

function Line({ agent, go, onRuns }: { readonly agent: LoadedAgent } & Omit<AgentsPaneProps, 'chosen'>) {
  const { name, description, model, runtime, servers } = agent;
  return (
    <li data-agent={name}>
      <strong>{name}</strong>{' '}
      <span class="aside">{model ?? (runtime === 'http' ? 'over http' : runtime)}</span>{' '}
      {runtime === 'model' && (
        <button type="button" onClick={() => onRuns(`agent ${name}`)}>
          Its runs
        </button>
      )}
      {description !== null && (
        <div>
          <bdi>{description}</bdi>
        </div>
      )}
      <div class="aside">{doneLine(agent.stats)}</div>
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
      <span class="aside">{own ? 'of its own' : 'of the catalog'}</span>{' '}
      {state === null ? (
        <span class="aside">{own ? 'not needed yet' : 'not there'}</span>
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
