// Creates the records of target-shapes.ts. Addresses, headers and bodies are omitted, because they may
// contain secrets. Graphs and fleets are parsed from the text of the definition, in which variables are not
// replaced. Stored definitions of older runs are parsed in the same way.

import type { AgentCounts } from '../../../actors/agents/runs/agent-counters.ts';
import { type DefinedFleet, parseFleetDefinition } from '../../../actors/agents/runs/fleet-definition.ts';
import { type DefinedGraph, parseFlowDefinition } from '../../../actors/agents/runs/flow-definition.ts';
import type { ManagedServer } from '../../../actors/mcp/servers/managed-server.ts';
import type { Agent } from '../../../config/resources/agents/agent.ts';
import type { Fleet } from '../../../config/resources/fleets/fleet.ts';
import type { Flow, FlowNode } from '../../../config/resources/flows/flow.ts';
import type { ApiHost } from './automation-route.ts';
import { fullView, type RecordView } from './record-view.ts';
import type {
  AgentRecord,
  AgentServerRecord,
  FleetPlan,
  FleetRecord,
  FlowDetails,
  FlowRecord,
  GraphRecord,
  TargetStats,
} from './target-shapes.ts';

/** Returns a target's entry in the statistics. */
export function targetStats(counts: AgentCounts): TargetStats {
  const { runs, running, failed, iterations, toolCalls, inputTokens, outputTokens, cost } = counts;
  return {
    ...{ runs, running, failed, iterations, cost },
    tool_calls: toolCalls,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
  };
}

/** Returns an entry for the list of agents. */
export function agentRecord(agent: Agent, view: RecordView = fullView): AgentRecord {
  const { name, description, model = null, runtime, tools, mcp_servers } = agent;
  const configured = view.json({ model, runtime: runtime.kind, tools, mcp_servers });
  return { name, description: view.note(description), ...configured };
}

/** Returns the agent's tool servers, with state and last error. */
export function agentServers(
  { name: agentName, runtime, mcp_servers }: Agent,
  { mcp: { servers, agentServers }, redactor }: Pick<ApiHost, 'mcp' | 'redactor'>,
  view: RecordView,
): readonly AgentServerRecord[] {
  /** `own`: the server belongs to the agent, not to the catalog. `running`: undefined for unknown servers. */
  const record = (
    name: string,
    { own, running }: { readonly own: boolean; readonly running: ManagedServer | undefined },
  ): AgentServerRecord => {
    const { state = null, lastError } = running ?? {};
    const last_error = lastError === undefined ? null : view.note(redactor.redact(lastError.message));
    return { name, own, state, last_error };
  };
  if (runtime.kind !== 'model')
    return mcp_servers.map((id) => record(id, { own: false, running: servers.get(id) }));
  // After a reload there may be two servers with the same id for a while; the later one is current.
  const agentServersById = new Map([...agentServers.everyone()].map((server) => [server.id, server]));
  return runtime.servers.map((server) =>
    server.entry === undefined
      ? record(server.name, { own: false, running: servers.get(server.name) })
      : record(server.name, { own: true, running: agentServersById.get(`${agentName}/${server.name}`) }),
  );
}

/** Returns an entry for the list of fleets. */
export function fleetRecord(fleet: Fleet, view: RecordView = fullView): FleetRecord {
  const { name, description, definition, timeout_seconds } = fleet;
  return {
    name,
    description: view.note(description),
    ...fleetPlan(parseFleetDefinition(definition), view),
    timeout_seconds,
  };
}

/** Returns how the fleet is coordinated, and its members. */
export function fleetPlan({ mode, vote, aggregation, members }: DefinedFleet, view: RecordView): FleetPlan {
  return {
    mode: view.name(mode),
    vote:
      vote === undefined
        ? null
        : {
            field: view.name(vote.field),
            algorithm: view.name(vote.algorithm),
            min_votes: vote.minVotes,
          },
    aggregation: view.name(aggregation),
    members: members.map(({ name, agent, weight, isManager, tier }) => {
      return { name: view.name(name), agent: view.name(agent), weight, manager: isManager, tier };
    }),
  };
}

/** Returns an entry for the list of flows. */
export function flowRecord(
  { name, description, parameters, nodes, timeout_seconds }: Flow,
  view: RecordView = fullView,
): FlowRecord {
  return {
    name,
    description: view.note(description),
    parameters: view.json(parameters),
    nodes_count: countOf(nodes),
    timeout_seconds,
  };
}

const countOf = (nodes: readonly FlowNode[]): number =>
  nodes.reduce((sum, { work }) => sum + 1 + (work.type === 'Loop' ? countOf(work.body.nodes) : 0), 0);

/** Returns the record for `/flows/:name`. */
export function flowDetails(flow: Flow, view: RecordView = fullView): FlowDetails {
  const graph = parseFlowDefinition(flow.definition) ?? { nodes: [], connections: [] };
  return { ...flowRecord(flow, view), ...graphRecord(graph, view) };
}

/** Returns nodes and connections, including those inside loops. */
export function graphRecord(
  { nodes, connections }: Pick<DefinedGraph, 'nodes' | 'connections'>,
  view: RecordView,
): GraphRecord {
  return {
    nodes: nodes.map(({ id, type, description, onError, inside }) => ({
      ...{ id, type: view.name(type), description: view.note(description), on_error: onError ?? null },
      ...(inside === undefined ? {} : { inside: graphRecord(inside, view) }),
    })),
    connections: connections.map(({ from, to, when }) => ({ from, to, when: view.name(when) })),
  };
}
