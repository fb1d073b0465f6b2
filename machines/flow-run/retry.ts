// Retries a failed flow: the failures that failed the flow (fatal failures) are withdrawn, and their nodes
// resume. Successful nodes, and failures handled by `on_error`, are unchanged. A loop that failed because of
// a node continues the same iteration at that node.

import { type FlowGraph, type GraphNode, nodePath, pathInTurn } from './graph.ts';
import type { FlowRow } from './rows.ts';

/** Returns the paths of nodes with fatal failures, including nodes inside loops. */
export function fatalFailures(graph: FlowGraph, rows: readonly FlowRow[]): readonly string[] {
  const failedPaths = new Set(rowsInForce(rows).flatMap((row) => (row.kind === 'failed' ? [row.in] : [])));
  const isFatal = (path: string): boolean => {
    const location = locate(graph, path);
    if (location === undefined || !failedPaths.has(path) || location.node.onError !== undefined) return false;
    return location.loop === undefined || isFatal(location.loop);
  };
  return [...failedPaths].filter(isFatal);
}

/** Returns the rows without withdrawn failures. */
export function rowsInForce(rows: readonly FlowRow[]): readonly FlowRow[] {
  if (!rows.some(({ kind }) => kind === 'retried')) return rows;
  const inForce: (FlowRow | undefined)[] = [];
  const failures = new Map<string, number>();
  for (const row of rows) {
    if (row.kind === 'failed') failures.set(row.in, inForce.length);
    const failure = row.kind === 'retried' ? failures.get(row.in) : undefined;
    if (failure !== undefined) inForce[failure] = undefined;
    inForce.push(row);
  }
  return inForce.filter((row) => row !== undefined);
}

/** Returns the node and the path of the loop around it. */
function locate(
  graph: FlowGraph,
  path: string,
): { readonly node: GraphNode; readonly loop: string | undefined } | undefined {
  const { turns, id } = nodePath(path) ?? { turns: [], id: '' };
  let nodes = graph.nodes;
  let [prefix, enclosingLoop] = ['', undefined as string | undefined];
  for (const { loop, turn } of turns) {
    nodes = nodes.find((each) => each.id === loop)?.inside?.nodes ?? [];
    enclosingLoop = prefix + loop;
    prefix = pathInTurn(enclosingLoop, turn, '');
  }
  const node = nodes.find((each) => each.id === id);
  return node && { node, loop: enclosingLoop };
}
