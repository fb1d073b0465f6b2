// A flow that has failed and goes on all the same: the failures that ended it are taken back, and those nodes work on.
//
// RTR1  a node that has ended well, and a failure that was caught by `on_error`, stay as they are.
// RTR2  of a loop that has failed by a node in its turn, that turn goes on at the node.

import { type FlowGraph, type GraphNode, nodePath, pathInTurn } from './graph.ts';
import type { FlowRow } from './rows.ts';

/** Paths of the nodes by whose failure the flow has failed, with those in the turns of loops among them. */
export function fatalFailures(graph: FlowGraph, rows: readonly FlowRow[]): readonly string[] {
  const failed = new Set(rowsInForce(rows).flatMap((row) => (row.kind === 'failed' ? [row.in] : [])));
  const isFatal = (path: string): boolean => {
    const found = placeIn(graph, path);
    if (found === undefined || !failed.has(path) || found.node.onError !== undefined) return false;
    return found.loop === undefined || isFatal(found.loop);
  };
  return [...failed].filter(isFatal);
}

/** Without the failures that were taken back. */
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

/** The node, and the path of the loop in whose turn it stands. */
function placeIn(
  graph: FlowGraph,
  path: string,
): { readonly node: GraphNode; readonly loop: string | undefined } | undefined {
  const { turns, id } = nodePath(path) ?? { turns: [], id: '' };
  let nodes = graph.nodes;
  let [prefix, around] = ['', undefined as string | undefined];
  for (const { loop, turn } of turns) {
    nodes = nodes.find((each) => each.id === loop)?.inside?.nodes ?? [];
    around = prefix + loop;
    prefix = pathInTurn(around, turn, '');
  }
  const node = nodes.find((each) => each.id === id);
  return node && { node, loop: around };
}
