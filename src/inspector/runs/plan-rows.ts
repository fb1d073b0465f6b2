// The fleets and flows as the inspector shows them: who is in them, and what they have done since the start.

import type { AgentCounts } from '../../../actors/agents/runs/agent-counters.ts';
import type { Redactor } from '../../../actors/base/errors/redact.ts';
import type { Fleet } from '../../../config/resources/fleets/fleet.ts';
import type { Flow } from '../../../config/resources/flows/flow.ts';
import type { DrawnGraph, FleetRow, FlowDrawing, FlowRow } from '../wire/run-wire.ts';
import { figures } from './agent-rows.ts';
import { drawnFleet, drawnGraph, nodesIn } from './plan-drawing.ts';

const MAX_TEXT = 500;
const NO_GRAPH: DrawnGraph = { nodes: [], connections: [] };
const NO_FLEET: FleetRow['fleet'] = { mode: '', vote: null, aggregation: null, members: [] };

/** A page asks for all of them again and again. */
const drawings = new WeakMap<Flow, DrawnGraph>();

export function fleetRow(fleet: Fleet, counts: AgentCounts, redactor: Redactor): FleetRow {
  const { name, description, definition } = fleet;
  return {
    name,
    description: shown(description, redactor),
    fleet: drawnFleet(definition, excerptOf(redactor)) ?? NO_FLEET,
    ...figures(counts),
  };
}

export function flowRow(flow: Flow, counts: AgentCounts, redactor: Redactor): FlowRow {
  const { graph: _, ...row } = flowDrawing(flow, counts, redactor);
  return row;
}

export function flowDrawing(flow: Flow, counts: AgentCounts, redactor: Redactor): FlowDrawing {
  const { name, description, parameters, definition } = flow;
  const graph = drawings.get(flow) ?? drawnGraph(definition, excerptOf(redactor)) ?? NO_GRAPH;
  drawings.set(flow, graph);
  return {
    name,
    description: shown(description, redactor),
    parameters: parameters.map((each) => each.name),
    nodes: nodesIn(graph),
    ...figures(counts),
    graph,
  };
}

const excerptOf = (redactor: Redactor) => (text: string, maxChars: number) =>
  redactor.excerpt(text, maxChars);

const shown = (text: string | undefined, redactor: Redactor): string | null =>
  text === undefined ? null : redactor.excerpt(text, MAX_TEXT);
