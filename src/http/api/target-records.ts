// Creates the records in target-shapes.ts. Addresses, headers and bodies are omitted: they may contain secrets. Graphs and
// fleets come from the definition text, which has variable names instead of values, so runs of old definitions look alike.

import type { AgentCounts } from '../../../actors/agents/runs/agent-counters.ts';
import { type DefinedFleet, definedFleet } from '../../../actors/agents/runs/defined-fleet.ts';
import { type DefinedGraph, definedGraph } from '../../../actors/agents/runs/defined-graph.ts';
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

/** Returns the counters for GET /stats. */
export function targetStats(counts: AgentCounts): TargetStats {
  const { runs, running, failed, iterations, toolCalls, inputTokens, outputTokens, cost } = counts;
  return {
    ...{ runs, running, failed, iterations, cost },
    tool_calls: toolCalls,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
  };
}

/** One line of GET /agents. */
export function agentRecord(agent: Agent, view: RecordView = fullView): AgentRecord {
  const { name, description, model = null, runtime, tools, mcp_servers } = agent;
  const configured = view.json({ model, runtime: runtime.kind, tools, mcp_servers });
  return { name, description: view.note(description), ...configured };
}

/** Returns an agent's servers with state and last error. */
export function agentServers(
  { name, runtime, mcp_servers }: Agent,
  { mcp: { servers, agentServers }, redactor }: Pick<ApiHost, 'mcp' | 'redactor'>,
  view: RecordView,
): readonly AgentServerRecord[] {
  const record = (server: string, own: boolean, running: ManagedServer | undefined): AgentServerRecord => {
    const { state = null, lastError } = running ?? {};
    const last_error = lastError === undefined ? null : view.note(redactor.redact(lastError.message));
    return { name: server, own, state, last_error };
  };
  if (runtime.kind !== 'model') return mcp_servers.map((id) => record(id, false, servers.get(id)));
  // A reload may leave two servers with the same id; the later one is current.
  const ofAgents = new Map([...agentServers.everyone()].map((server) => [server.id, server]));
  return runtime.servers.map((server) =>
    server.entry === undefined
      ? record(server.name, false, servers.get(server.name))
      : record(server.name, true, ofAgents.get(`${name}/${server.name}`)),
  );
}

/** One line of GET /fleets. */
export function fleetRecord(fleet: Fleet, view: RecordView = fullView): FleetRecord {
  const { name, description, definition, timeout_seconds } = fleet;
  return {
    name,
    description: view.note(description),
    ...fleetPlan(definedFleet(definition), view),
    timeout_seconds,
  };
}

/** Returns coordination and members. */
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

/** One line of GET /flows. */
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

/** GET /flows/:name. */
export function flowDetails(flow: Flow, view: RecordView = fullView): FlowDetails {
  const graph = definedGraph(flow.definition) ?? { nodes: [], connections: [] };
  return { ...flowRecord(flow, view), ...graphRecord(graph, view) };
}

/** Returns nodes and connections, loops included. */
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
