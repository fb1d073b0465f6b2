// The flow graph: built from the file for the plan, indexed for the run, and followed after each node.

import type { Connection, FlowBody, FlowNode } from '../../../config/resources/flows/flow.ts';
import type { FlowGraph } from '../../../machines/flow-run/graph.ts';
import { guarded, type Values } from './node-host.ts';

/** Nodes by id, and connections by source node: a flow looks up both at each step. */
export interface BodyIndex {
  readonly nodes: ReadonlyMap<string, FlowNode>;
  /** Nodes in the order of the file. */
  readonly connectionsFrom: ReadonlyMap<string, readonly Connection[]>;
}

const indexes = new WeakMap<FlowBody, BodyIndex>();

/** Returns the index of a body, built at the first call. */
export function bodyIndex(body: FlowBody): BodyIndex {
  const known = indexes.get(body);
  if (known !== undefined) return known;
  const connectionsFrom = new Map<string, Connection[]>(body.nodes.map(({ id }) => [id, []]));
  for (const connection of body.connections) connectionsFrom.get(connection.from)?.push(connection);
  const index = { nodes: new Map(body.nodes.map((node) => [node.id, node])), connectionsFrom };
  indexes.set(body, index);
  return index;
}

/**
 * Returns the indexes of the connections that are taken. `values` is called for a condition, and includes the output of the node.
 * Throws a HandlerError when a condition cannot be evaluated.
 */
export function takenOf(
  body: FlowBody,
  { id, work }: FlowNode,
  output: unknown,
  values: () => Values,
): readonly number[] {
  const own = bodyIndex(body).connectionsFrom.get(id) ?? [];
  let known: Values | undefined;
  const isTaken = ({ when }: (typeof own)[number]): boolean => {
    if (when.kind === 'expression') {
      known ??= values();
      const given = known;
      return guarded(() => when.expression.evaluate(given)) === true;
    }
    if (when.kind === 'always') return true;
    const { decision } = (output ?? {}) as { readonly decision?: unknown };
    return when.kind !== 'else' && decision === when.kind;
  };
  const places = own.flatMap((connection, place) => (isTaken(connection) ? [place] : []));
  // A Conditional takes only its first connection whose condition holds.
  const counted = work.type === 'Conditional' ? places.slice(0, 1) : places;
  const otherwise = own.findIndex(({ when }) => when.kind === 'else');
  return counted.length === 0 && otherwise !== -1 ? [otherwise] : counted;
}

export function flowGraph({ nodes, connections }: FlowBody): FlowGraph {
  return {
    nodes: nodes.map(({ id, strategy, on_error, work }) => ({
      id,
      join: strategy,
      onError: on_error,
      inside: work.type === 'Loop' ? flowGraph(work.body) : undefined,
    })),
    connections: connections.map(({ from, to }) => ({ from, to })),
  };
}
