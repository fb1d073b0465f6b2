// Parses the graph from a flow's definition text, for views. Variables and expressions are not evaluated, so
// the definition in the journal of any run can be read, even after the file has changed.

import type { NodeType } from '../../../config/resources/flows/flow.ts';
import { resolveNodeType } from '../../../config/resources/flows/node-aliases.ts';
import { type FlowGraph, type JoinStrategy, nodePath, wiringOf } from '../../../machines/flow-run/graph.ts';

export interface DefinedNode {
  readonly id: string;
  /** Type, or an unknown type as written. */
  readonly type: NodeType | (string & {});
  readonly description: string | undefined;
  readonly join: JoinStrategy;
  /** Next node after failures. */
  readonly onError: string | undefined;
  /** Loop node's body; undefined for other types. */
  readonly inside: DefinedGraph | undefined;
}

export interface DefinedGraph {
  readonly nodes: readonly DefinedNode[];
  /** In the order of the file. */
  readonly connections: readonly {
    readonly from: string;
    readonly to: string;
    /** Condition as written. */
    readonly when: string | undefined;
  }[];
  readonly graph: FlowGraph;
}

type DefinitionMembers = Readonly<Record<string, unknown>>;

/** Parses `Flow.definition`. Returns undefined for invalid text. */
export function parseFlowDefinition(definition: string): DefinedGraph | undefined {
  try {
    return graphIn(JSON.parse(definition));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
}

/**
 * Returns the target nodes of the connections that a finished node took. `takenIndexes` comes from the
 * journal row of kind `left`, which ends the node: its `taken` has indexes into the outgoing connections.
 */
export function takenTargets(
  { graph }: DefinedGraph,
  path: string,
  takenIndexes: unknown,
): readonly string[] {
  const parsed = nodePath(path);
  if (parsed === undefined || !Array.isArray(takenIndexes)) return [];
  let ownGraph: FlowGraph | undefined = graph;
  // Descends through the loops around the node, to the graph that contains it. Each turn of the path names an
  // iteration of a loop.
  for (const { loop } of parsed.turns) ownGraph = ownGraph?.nodes.find(({ id }) => id === loop)?.inside;
  if (ownGraph === undefined) return [];
  // An arrow is a connection, or the link to an `onError` node, which has no `connectionIndex`.
  const { nodes, arrows, outOf, indexOf } = wiringOf(ownGraph);
  return (outOf[indexOf.get(parsed.id) ?? -1] ?? []).flatMap((arrowIndex) => {
    const { connectionIndex, to } = arrows[arrowIndex] ?? {};
    const node =
      connectionIndex !== undefined && to !== undefined && takenIndexes.includes(connectionIndex)
        ? nodes[to]
        : undefined;
    return node === undefined ? [] : [node.id];
  });
}

function graphIn(body: unknown): DefinedGraph {
  const parsedNodes = listOf(membersOf(body).nodes).flatMap(nodeIn);
  const ids = new Set(parsedNodes.map(({ id }) => id));
  const nodes = parsedNodes.map((node) =>
    node.onError === undefined || ids.has(node.onError) ? node : { ...node, onError: undefined },
  );
  const connections = listOf(membersOf(body).connections).flatMap((each) => {
    const { from, to, when } = membersOf(each);
    if (!ids.has(String(from)) || !ids.has(String(to))) return [];
    return [{ from: String(from), to: String(to), when: when == null ? undefined : String(when) }];
  });
  const graphNodes = nodes.map(({ id, join, onError, inside }) => {
    return { id, join, onError, inside: inside?.graph };
  });
  return { nodes, connections, graph: { nodes: graphNodes, connections } };
}

function nodeIn(value: unknown): readonly DefinedNode[] {
  const { id, type: typeName, description, on_error, config } = membersOf(value);
  if (typeof id !== 'string') return [];
  const nodeType = resolveNodeType(String(typeName));
  const type = 'type' in nodeType ? nodeType.type : String(typeName);
  const { strategy } = membersOf(config);
  const join = type === 'Join' && (strategy === 'any' || strategy === 'majority') ? strategy : 'all';
  const inside = type === 'Loop' ? graphIn(config) : undefined;
  return [{ id, type, description: textOf(description), join, onError: textOf(on_error), inside }];
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined);

/** Returns an object's members; empty for other values. */
export const membersOf = (value: unknown): DefinitionMembers =>
  typeof value === 'object' && value !== null ? (value as DefinitionMembers) : {};

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
