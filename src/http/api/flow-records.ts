// The JSON of GET /fleets and GET /flows: who is in it, what leads to what; no address, header or body, which may have secrets in them.

import type { Fleet } from '../../../config/resources/fleets/fleet.ts';
import type { Connection, Flow, FlowBody, FlowNode } from '../../../config/resources/flows/flow.ts';

/** One line of GET /fleets. */
export function fleetRecord({ name, description, coordination, members, timeout_seconds }: Fleet) {
  return {
    name,
    description: description ?? null,
    mode: coordination.mode,
    members: members.map(({ name: member, agent, weight, isManager, tier }) => ({
      name: member,
      agent: typeof agent === 'string' ? agent : null,
      weight: weight / 1_000,
      manager: isManager,
      tier,
    })),
    timeout_seconds,
  };
}

/** One line of GET /flows. */
export function flowRecord({ name, description, parameters, nodes, timeout_seconds }: Flow) {
  return { name, description: description ?? null, parameters, nodes_count: countOf(nodes), timeout_seconds };
}

const countOf = (nodes: readonly FlowNode[]): number =>
  nodes.reduce((sum, { work }) => sum + 1 + (work.type === 'Loop' ? countOf(work.body.nodes) : 0), 0);

/** GET /flows/:name. */
export function flowDetails(flow: Flow) {
  return { ...flowRecord(flow), ...graphRecord(flow) };
}

export interface GraphRecord {
  readonly nodes: readonly NodeRecord[];
  readonly connections: readonly ConnectionRecord[];
}

interface NodeRecord {
  readonly id: string;
  readonly type: FlowNode['work']['type'];
  readonly description: string | null;
  readonly on_error: string | null;
  /** Of a loop. */
  readonly inside?: GraphRecord;
}

interface ConnectionRecord {
  readonly from: string;
  readonly to: string;
  readonly when: string | null;
}

export function graphRecord({ nodes, connections }: FlowBody): GraphRecord {
  return { nodes: nodes.map(nodeRecord), connections: connections.map(connectionRecord) };
}

function nodeRecord({ id, work, description, on_error }: FlowNode): NodeRecord {
  const record = { id, type: work.type, description: description ?? null, on_error: on_error ?? null };
  return work.type === 'Loop' ? { ...record, inside: graphRecord(work.body) } : record;
}

function connectionRecord({ from, to, when }: Connection): ConnectionRecord {
  if (when.kind === 'always') return { from, to, when: null };
  return { from, to, when: when.kind === 'expression' ? when.expression.text : when.kind };
}
