// Fleets and flows as a page draws them, from their definitions as written: variables stand in them by their names, so there is no secret
// in what is drawn, and the definition that a run began with is read like that of today.

import { type DefinedNode, definedGraph } from '../../../actors/agents/runs/defined-graph.ts';
import type { FlowGraph } from '../../../machines/flow-run/graph.ts';
import type { DrawnFleet, DrawnGraph } from '../wire/run-wire.ts';

/** The beginning of a text without secrets, so many characters of it. */
type Excerpt = (text: string, maxChars: number) => string;
type Members = Readonly<Record<string, unknown>>;

const MAX_TEXT = 500;
const MAX_WHEN = 200;

/** Of a `Flow.definition`; undefined for a text that is none. */
export function drawnGraph(definition: string, excerpt: Excerpt): DrawnGraph | undefined {
  const defined = definedGraph(definition);
  return defined && drawn(JSON.parse(definition) as unknown, defined.nodes, defined.graph, excerpt);
}

function drawn(
  written: unknown,
  nodes: readonly DefinedNode[],
  graph: FlowGraph,
  excerpt: Excerpt,
): DrawnGraph {
  const texts = listIn(membersIn(written).nodes).map(membersIn);
  const whens = listIn(membersIn(written).connections).map(membersIn);
  const ids = new Set(nodes.map(({ id }) => id));
  const leading = whens.filter(({ from, to }) => ids.has(String(from)) && ids.has(String(to)));
  return {
    nodes: nodes.map(({ id, type, inside }) => {
      const known = graph.nodes.find((each) => each.id === id);
      const text = texts.find((each) => each.id === id);
      const { description } = text ?? {};
      return {
        id,
        type: excerpt(type, MAX_WHEN),
        description: typeof description === 'string' ? excerpt(description, MAX_TEXT) : null,
        on_error: known?.onError ?? null,
        inside: known?.inside === undefined ? null : drawn(text?.config, inside, known.inside, excerpt),
      };
    }),
    connections: graph.connections.map(({ from, to }, index) => {
      const { when } = leading[index] ?? {};
      return { from, to, when: when === undefined || when === null ? null : excerpt(String(when), MAX_WHEN) };
    }),
  };
}

/** How many nodes there are, those of loops included. */
export const nodesIn = ({ nodes }: DrawnGraph): number =>
  nodes.reduce((sum, { inside }) => sum + 1 + (inside === null ? 0 : nodesIn(inside)), 0);

/** Of a `Fleet.definition`; undefined for a text that is none. */
export function drawnFleet(definition: string, excerpt: Excerpt): DrawnFleet | undefined {
  const written = jsonIn(definition);
  if (written === undefined) return undefined;
  const { mode, consensus, aggregation } = membersIn(written.coordination);
  const { field, algorithm = 'majority', min_votes = 1 } = membersIn(consensus);
  const text = (value: unknown): string => excerpt(String(value), MAX_WHEN);
  return {
    mode: text(mode),
    vote:
      typeof field === 'string'
        ? { field: text(field), algorithm: text(algorithm), min_votes: numberIn(min_votes, 1) }
        : null,
    aggregation: typeof aggregation === 'string' ? text(aggregation) : null,
    members: listIn(written.agents ?? written.members).flatMap((each) => {
      const { name, agent, ref = agent, spec, weight, role, tier } = membersIn(each);
      if (typeof name !== 'string') return [];
      const asked = typeof ref === 'string' ? text(ref) : spec === undefined ? text(name) : null;
      const place = { is_manager: role === 'manager', tier: numberIn(tier, 1) };
      return { name: text(name), agent: asked, weight: numberIn(weight, 1), ...place };
    }),
  };
}

function jsonIn(text: string): Members | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null ? (value as Members) : undefined;
  } catch {
    return undefined;
  }
}

const membersIn = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {};
const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const numberIn = (value: unknown, otherwise: number) => {
  const read = typeof value === 'string' ? Number(value) : value;
  return typeof read === 'number' && Number.isFinite(read) ? read : otherwise;
};
