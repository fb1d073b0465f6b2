// Flow graph: converts the file for the plan (machines/flow-run/), indexes it for the run, and selects
// the connections that a finished node takes.

import { EvaluationBudget } from '../../../config/expressions/evaluation-budget.ts';
import type { FlowBody, FlowConnection, FlowNode } from '../../../config/resources/flows/flow.ts';
import type { FlowGraph } from '../../../machines/flow-run/graph.ts';
import { evaluate, type Values } from './node-host.ts';

/** Nodes by id, and connections by source node; both are looked up at each step. */
export interface BodyIndex {
  readonly nodes: ReadonlyMap<string, FlowNode>;
  /** Connections by source node, in the order of the file. */
  readonly connectionsFrom: ReadonlyMap<string, readonly FlowConnection[]>;
}

const indexes = new WeakMap<FlowBody, BodyIndex>();

/** Returns a body's index, built at the first call. */
export function bodyIndex(body: FlowBody): BodyIndex {
  const cachedIndex = indexes.get(body);
  if (cachedIndex !== undefined) return cachedIndex;
  const connectionsFrom = new Map<string, FlowConnection[]>(body.nodes.map(({ id }) => [id, []]));
  for (const connection of body.connections) connectionsFrom.get(connection.from)?.push(connection);
  const index = { nodes: new Map(body.nodes.map((node) => [node.id, node])), connectionsFrom };
  indexes.set(body, index);
  return index;
}

/**
 * Returns the connections that a finished node took, as indexes into its outgoing connections in file order.
 * `values` returns the values for conditions, including the node's output. Throws a HandlerError if a
 * condition cannot be evaluated.
 */
export function takenConnections(
  body: FlowBody,
  { id, work }: FlowNode,
  output: unknown,
  values: () => Values,
): readonly number[] {
  const outgoing = bodyIndex(body).connectionsFrom.get(id) ?? [];
  let cachedValues: Values | undefined;
  const budget = new EvaluationBudget();
  const isTaken = ({ when }: FlowConnection): boolean => {
    if (when.kind === 'expression') {
      cachedValues ??= values();
      const currentValues = cachedValues;
      return evaluate(() => when.expression.evaluate(currentValues, budget)) === true;
    }
    if (when.kind === 'always') return true;
    // The remaining kinds are the decisions of an Approval node, and `else`.
    const { decision } = (output ?? {}) as { readonly decision?: unknown };
    return when.kind !== 'else' && decision === when.kind;
  };
  const takenIndexes = outgoing.flatMap((connection, index) => (isTaken(connection) ? [index] : []));
  // A Conditional takes only its first connection whose condition holds.
  const effective = work.type === 'Conditional' ? takenIndexes.slice(0, 1) : takenIndexes;
  const elseIndex = outgoing.findIndex(({ when }) => when.kind === 'else');
  return effective.length === 0 && elseIndex !== -1 ? [elseIndex] : effective;
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
