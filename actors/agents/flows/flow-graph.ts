// The graph that the plan of a flow needs, of what its file says.

import type { FlowBody } from '../../../config/resources/flows/flow.ts';
import type { FlowGraph } from '../../../machines/flow-run/graph.ts';

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
