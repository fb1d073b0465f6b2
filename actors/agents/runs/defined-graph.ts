// The graph of a flow as the text of its definition has it, for those who show a run: it needs no variables and no expressions, and so can
// be read of any run, whatever has become of the file since.

import type { NodeType } from '../../../config/resources/flows/flow.ts';
import { nodeTypeMeant } from '../../../config/resources/flows/node-aliases.ts';
import { type FlowGraph, type JoinStrategy, nodePath, wiringOf } from '../../../machines/flow-run/graph.ts';

export interface DefinedNode {
  readonly id: string;
  /** As written, where it is none that is known. */
  readonly type: NodeType | (string & {});
  readonly description: string | undefined;
  readonly join: JoinStrategy;
  /** Next node after a failure. */
  readonly onError: string | undefined;
  /** Only in loops. */
  readonly inside: DefinedGraph | undefined;
}

export interface DefinedGraph {
  readonly nodes: readonly DefinedNode[];
  /** In the order of the file. */
  readonly connections: readonly {
    readonly from: string;
    readonly to: string;
    /** As written. */
    readonly when: string | undefined;
  }[];
  readonly graph: FlowGraph;
}

type Members = Readonly<Record<string, unknown>>;

/** Of a `Flow.definition`; undefined for what is none. */
export function definedGraph(definition: string): DefinedGraph | undefined {
  try {
    return graphIn(JSON.parse(definition));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Returns the nodes that the taken connections of a node lead to; `places` is as in the row `left`. */
export function takenIn({ graph }: DefinedGraph, path: string, places: unknown): readonly string[] {
  const parsed = nodePath(path);
  if (parsed === undefined || !Array.isArray(places)) return [];
  let around: FlowGraph | undefined = graph;
  for (const { loop } of parsed.turns) around = around?.nodes.find(({ id }) => id === loop)?.inside;
  if (around === undefined) return [];
  const { nodes, arrows, outOf, indexOf } = wiringOf(around);
  return (outOf[indexOf.get(parsed.id) ?? -1] ?? []).flatMap((at) => {
    const { place, to } = arrows[at] ?? {};
    const node = place !== undefined && to !== undefined && places.includes(place) ? nodes[to] : undefined;
    return node === undefined ? [] : [node.id];
  });
}

function graphIn(body: unknown): DefinedGraph {
  const read = listOf(membersOf(body).nodes).flatMap(nodeIn);
  const ids = new Set(read.map(({ id }) => id));
  const nodes = read.map((node) =>
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

function nodeIn(written: unknown): readonly DefinedNode[] {
  const { id, type: word, description, on_error, config } = membersOf(written);
  if (typeof id !== 'string') return [];
  const meant = nodeTypeMeant(String(word));
  const type = 'type' in meant ? meant.type : String(word);
  const { strategy } = membersOf(config);
  const join = type === 'Join' && (strategy === 'any' || strategy === 'majority') ? strategy : 'all';
  const inside = type === 'Loop' ? graphIn(config) : undefined;
  return [{ id, type, description: textOf(description), join, onError: textOf(on_error), inside }];
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined);

/** Returns the members of an object; none for other values. */
export const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {};

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
