// Nodes and connections in a flow. A loop node contains a nested graph; a turn is one loop iteration.

/** One iteration: the id of the loop, and the number of the iteration. */
export interface TurnOfLoop {
  readonly loop: string;
  readonly turn: number;
}

/**
 * Parsed node path: `poll#3/check` is the node `check` in the third iteration of the loop `poll`. Work
 * inside a node, such as one of several agents (fleet members), has the node's path and further segments.
 */
export interface NodePath {
  /** Loops from outermost to innermost. */
  readonly turns: readonly TurnOfLoop[];
  readonly id: string;
}

/** Parses a node path; undefined for the path of work inside a node. */
export function nodePath(path: string): NodePath | undefined {
  const names = path.split('/');
  const id = names.pop() ?? '';
  const turns: TurnOfLoop[] = [];
  for (const name of names) {
    const hash = name.indexOf('#');
    if (hash === -1) return undefined;
    turns.push({ loop: name.slice(0, hash), turn: Number(name.slice(hash + 1)) });
  }
  return { turns, id };
}

/** Returns a node path in an iteration of the loop at path `loop`. */
export const pathInTurn = (loop: string, turn: number, id: string): string => `${loop}#${turn}/${id}`;

export type JoinStrategy = 'all' | 'any' | 'majority';

export interface GraphNode {
  readonly id: string;
  /** Start condition for several incoming connections. */
  readonly join: JoinStrategy;
  /** Node that handles a failure. */
  readonly onError?: string | undefined;
  /** Graph inside a loop. */
  readonly inside?: FlowGraph | undefined;
}

export interface FlowGraph {
  readonly nodes: readonly GraphNode[];
  readonly connections: readonly { readonly from: string; readonly to: string }[];
}

/** A connection, or the link to `onError`. */
export interface Arrow {
  readonly from: number;
  readonly to: number;
  /** Index in the node's connections, from 0; undefined for the link to `onError`. */
  readonly connectionIndex: number | undefined;
}

export interface Wiring {
  readonly nodes: readonly GraphNode[];
  readonly arrows: readonly Arrow[];
  /** Arrow indexes by target node and by source node. */
  readonly into: readonly (readonly number[])[];
  readonly outOf: readonly (readonly number[])[];
  readonly indexOf: ReadonlyMap<string, number>;
}

const wirings = new WeakMap<FlowGraph, Wiring>();

/** Returns a graph's cached wiring. Throws RangeError for a connection with an unknown node. */
export function wiringOf(graph: FlowGraph): Wiring {
  const cached = wirings.get(graph);
  if (cached !== undefined) return cached;
  const { nodes, connections } = graph;
  const indexOf = new Map(nodes.map(({ id }, index) => [id, index]));
  const requireIndex = (id: string): number => {
    const index = indexOf.get(id);
    if (index === undefined) throw new RangeError(`unknown node ${id}`);
    return index;
  };
  const counts = nodes.map(() => 0);
  const arrows: Arrow[] = connections.map(({ from, to }) => {
    const index = requireIndex(from);
    const connectionIndex = counts[index] ?? 0;
    counts[index] = connectionIndex + 1;
    return { from: index, to: requireIndex(to), connectionIndex };
  });
  for (const [from, { onError }] of nodes.entries())
    if (onError !== undefined) arrows.push({ from, to: requireIndex(onError), connectionIndex: undefined });
  const into: number[][] = nodes.map(() => []);
  const outOf: number[][] = nodes.map(() => []);
  for (const [index, { from, to }] of arrows.entries()) {
    into[to]?.push(index);
    outOf[from]?.push(index);
  }
  const wiring = { nodes, arrows, into, outOf, indexOf };
  wirings.set(graph, wiring);
  return wiring;
}
