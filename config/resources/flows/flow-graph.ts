// Checks the graph of a flow, or of a loop within it. The edges are the connections, and the `on_error` of a
// node (its next node after a failure). Cycles, duplicate connections and unknown nodes are errors.

import { joinPath } from '../../reader/field-path.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { didYouMean } from './flow-names.ts';

interface FileNode {
  readonly id: string;
  /** Id of the next node after a failure. */
  readonly on_error: string | undefined;
}

/** A connection, or the `on_error` of a node. */
interface Edge {
  readonly from: string;
  readonly to: string;
  /** Paths of both names in the file. */
  readonly path: { readonly from: string; readonly to: string };
}

export interface CheckedGraph {
  /** Returns all nodes that can run before the node. */
  before(id: string): ReadonlySet<string>;
}

/**
 * Reports cycles, unknown and duplicate names. `path` is the path of the flow or loop in the file. Invalid
 * nodes and connections are undefined.
 */
export function checkGraph(
  reader: SchemaReader,
  path: string,
  nodes: readonly (FileNode | undefined)[],
  connections: readonly ({ readonly from?: string; readonly to?: string } | undefined)[],
): CheckedGraph {
  const ids = checkIds(reader, path, nodes);
  const areNodesKnown = ({ from, to, path: namePaths }: Edge): boolean => {
    const isToKnown = ids.includes(to);
    if (!isToKnown) reader.report(namePaths.to, `there is no node ${to}${didYouMean(to, ids)}`);
    const isFromKnown = ids.includes(from);
    if (!isFromKnown) reader.report(namePaths.from, `there is no node ${from}${didYouMean(from, ids)}`);
    return isToKnown && isFromKnown;
  };
  const errorEdges = errorEdgesOf(path, nodes).filter(areNodesKnown);
  const connectionEdges = connectionEdgesOf(path, connections).filter(areNodesKnown);
  checkDuplicates(reader, connectionEdges);
  const edges = [...errorEdges, ...connectionEdges];
  const cycle = findCycle(ids, edges);
  if (cycle !== undefined)
    reader.report(cycle.path, `creates a cycle: ${cycle.nodes.join(' → ')}; use a Loop to repeat nodes`);
  return { before: predecessorsIn(edges) };
}

function errorEdgesOf(path: string, nodes: readonly (FileNode | undefined)[]): Edge[] {
  return nodes.flatMap((node, index) => {
    if (node?.on_error === undefined) return [];
    const edgePath = joinPath(joinPath(joinPath(path, 'nodes'), index), 'on_error');
    return [{ from: node.id, to: node.on_error, path: { from: edgePath, to: edgePath } }];
  });
}

function connectionEdgesOf(
  path: string,
  connections: readonly ({ readonly from?: string; readonly to?: string } | undefined)[],
): Edge[] {
  return connections.flatMap((connection, index) => {
    const { from, to } = connection ?? {};
    if (from === undefined || to === undefined) return [];
    const connectionPath = joinPath(joinPath(path, 'connections'), index);
    return [
      { from, to, path: { from: joinPath(connectionPath, 'from'), to: joinPath(connectionPath, 'to') } },
    ];
  });
}

/** Reports duplicate ids. Returns all ids. */
function checkIds(
  reader: SchemaReader,
  path: string,
  nodes: readonly (FileNode | undefined)[],
): readonly string[] {
  const ids: string[] = [];
  for (const [index, node] of nodes.entries()) {
    if (node === undefined) continue;
    if (ids.includes(node.id))
      reader.report(joinPath(joinPath(joinPath(path, 'nodes'), index), 'id'), `is a duplicate: ${node.id}`);
    ids.push(node.id);
  }
  return ids;
}

/**
 * Reports two connections between the same nodes, which must be combined with `||`. A connection parallel to
 * `on_error` is allowed.
 */
function checkDuplicates(reader: SchemaReader, edges: readonly Edge[]): void {
  const seen = new Set<string>();
  for (const { from, to, path } of edges) {
    const key = `${from}\n${to}`;
    if (seen.has(key))
      reader.report(
        path.to,
        `${from} already leads to ${to}; write a single connection, with || between the conditions`,
      );
    seen.add(key);
  }
}

/** Returns the nodes of a cycle, and the path of the edge that closes it. */
function findCycle(
  ids: readonly string[],
  edges: readonly Edge[],
): { readonly path: string; readonly nodes: readonly string[] } | undefined {
  /** Nodes that lead to no cycle. */
  const done = new Set<string>();
  /** Nodes from the start of the search to the current node. */
  const visitedIds: string[] = [];
  const visit = (id: string): ReturnType<typeof findCycle> => {
    visitedIds.push(id);
    for (const { from, to, path } of edges) {
      if (from !== id || done.has(to)) continue;
      const index = visitedIds.indexOf(to);
      if (index !== -1) return { path: path.to, nodes: [...visitedIds.slice(index), to] };
      const found = visit(to);
      if (found !== undefined) return found;
    }
    visitedIds.pop();
    done.add(id);
    return undefined;
  };
  for (const id of ids) {
    const found = done.has(id) ? undefined : visit(id);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns a function for the nodes before a node, directly or through others. */
function predecessorsIn(edges: readonly Edge[]): (id: string) => ReadonlySet<string> {
  const cache = new Map<string, ReadonlySet<string>>();
  return (id) => {
    const found = cache.get(id);
    if (found !== undefined) return found;
    const before = new Set<string>();
    const waiting = [id];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
      for (const { from, to } of edges)
        if (to === next && !before.has(from)) {
          before.add(from);
          waiting.push(from);
        }
    cache.set(id, before);
    return before;
  };
}
