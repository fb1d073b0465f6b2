// The nodes of a flow and what leads from one to the other, as far as the plan has to know them. A loop has a graph of its own inside.

/** Loop and turn number in a path. */
export interface TurnOfLoop {
  readonly loop: string;
  readonly turn: number;
}

/** Node path: `poll#3/check` in the third turn of the loop `poll`. Parts inside a node, such as fleet members, have longer paths. */
export interface NodePath {
  /** Loops from outermost to innermost. */
  readonly turns: readonly TurnOfLoop[];
  readonly id: string;
}

/** Returns undefined for parts inside a node. */
export function nodePath(path: string): NodePath | undefined {
  const names = path.split('/');
  const id = names.pop() ?? '';
  const turns: TurnOfLoop[] = [];
  for (const name of names) {
    const at = name.indexOf('#');
    if (at === -1) return undefined;
    turns.push({ loop: name.slice(0, at), turn: Number(name.slice(at + 1)) });
  }
  return { turns, id };
}

/** Returns the path of a node in a turn of the loop at path `loop`. */
export const pathInTurn = (loop: string, turn: number, id: string): string => `${loop}#${turn}/${id}`;

export type JoinStrategy = 'all' | 'any' | 'majority';

export interface GraphNode {
  readonly id: string;
  /** When it may start, where several connections lead to it. */
  readonly join: JoinStrategy;
  /** The node that goes on where this one fails. */
  readonly onError?: string | undefined;
  /** Of a loop: its nodes. */
  readonly inside?: FlowGraph | undefined;
}

export interface FlowGraph {
  readonly nodes: readonly GraphNode[];
  readonly connections: readonly { readonly from: string; readonly to: string }[];
}

/** One arrow: a connection, or what leads to `onError`. */
export interface Arrow {
  readonly from: number;
  readonly to: number;
  /** Among the connections of its node, from 0; undefined where it is taken by a failure. */
  readonly place: number | undefined;
}

export interface Wiring {
  readonly nodes: readonly GraphNode[];
  readonly arrows: readonly Arrow[];
  /** Arrows by the node to which they lead, and from which. */
  readonly into: readonly (readonly number[])[];
  readonly outOf: readonly (readonly number[])[];
  readonly indexOf: ReadonlyMap<string, number>;
}

const wirings = new WeakMap<FlowGraph, Wiring>();

/** Worked out once for each graph. Throws RangeError for a connection between nodes that are not there. */
export function wiringOf(graph: FlowGraph): Wiring {
  const known = wirings.get(graph);
  if (known !== undefined) return known;
  const { nodes, connections } = graph;
  const indexOf = new Map(nodes.map(({ id }, index) => [id, index]));
  const at = (id: string): number => {
    const index = indexOf.get(id);
    if (index === undefined) throw new RangeError(`there is no node ${id}`);
    return index;
  };
  const places = nodes.map(() => 0);
  const arrows: Arrow[] = connections.map(({ from, to }) => {
    const index = at(from);
    const place = places[index] ?? 0;
    places[index] = place + 1;
    return { from: index, to: at(to), place };
  });
  for (const [from, { onError }] of nodes.entries())
    if (onError !== undefined) arrows.push({ from, to: at(onError), place: undefined });
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
