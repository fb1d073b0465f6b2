// The graph of a flow as the text of its definition has it, for those who show a run: it needs no variables and no expressions, and so can
// be read of any run, whatever has become of the file since.

import type { NodeType } from '../../../config/resources/flows/flow.ts';
import { nodeTypeMeant } from '../../../config/resources/flows/node-aliases.ts';
import {
  type FlowGraph,
  type GraphNode,
  type JoinStrategy,
  wiringOf,
} from '../../../machines/flow-run/graph.ts';
import { nodePath } from '../../../machines/flow-run/node-path.ts';

export interface DefinedNode {
  readonly id: string;
  /** As written, where it is none that is known. */
  readonly type: NodeType | (string & {});
  /** Of a loop. */
  readonly inside: readonly DefinedNode[];
}

export interface DefinedGraph {
  readonly nodes: readonly DefinedNode[];
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
  const ids = new Set(read.map(({ node }) => node.id));
  const connections = listOf(membersOf(body).connections).flatMap((each) => {
    const { from, to } = membersOf(each);
    return ids.has(String(from)) && ids.has(String(to)) ? [{ from: String(from), to: String(to) }] : [];
  });
  const nodes = read.map(({ graphNode }) =>
    graphNode.onError === undefined || ids.has(graphNode.onError)
      ? graphNode
      : { ...graphNode, onError: undefined },
  );
  return { nodes: read.map(({ node }) => node), graph: { nodes, connections } };
}

function nodeIn(written: unknown): readonly { readonly node: DefinedNode; readonly graphNode: GraphNode }[] {
  const { id, type: word, on_error, config } = membersOf(written);
  if (typeof id !== 'string') return [];
  const meant = nodeTypeMeant(String(word));
  const type = 'type' in meant ? meant.type : String(word);
  const { strategy } = membersOf(config);
  const join: JoinStrategy =
    type === 'Join' && (strategy === 'any' || strategy === 'majority') ? strategy : 'all';
  const onError = typeof on_error === 'string' ? on_error : undefined;
  const inner = type === 'Loop' ? graphIn(config) : undefined;
  return [
    {
      node: { id, type, inside: inner?.nodes ?? [] },
      graphNode: { id, join, onError, inside: inner?.graph },
    },
  ];
}

const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {};

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
