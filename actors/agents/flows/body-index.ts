// Nodes of a flow body by their ids, and connections by the nodes they leave: built once per body, since a flow looks both
// up at each step.

import type { Connection, FlowBody, FlowNode } from '../../../config/resources/flows/flow.ts';

export interface BodyIndex {
  readonly nodes: ReadonlyMap<string, FlowNode>;
  /** In the order of the file. */
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
