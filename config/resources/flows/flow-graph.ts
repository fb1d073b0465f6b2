// Checks the graph of a flow or loop, whose edges are its connections and the `on_error` of its nodes: it
// must have no cycles, duplicate connections or unknown nodes.

import { joinPath } from '../../reader/field-path.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { didYouMean } from './flow-names.ts';

interface FileNode {
  readonly id: string;
  readonly on_error: string | undefined;
}

interface FileConnection {
  readonly from: string;
  readonly to: string;
  /** Path of the connection in the file. */
  readonly path: string;
}

export interface CheckedGraph {
  /** Returns all nodes that can run before the node. */
  before(id: string): ReadonlySet<string>;
}

/** `path` is the path of the flow or loop. Reports cycles, unknown and duplicate names. */
export function checkGraph(
  reader: SchemaReader,
  path: string,
  nodes: readonly (FileNode | undefined)[],
  connections: readonly ({ readonly from?: string; readonly to?: string } | undefined)[],
): CheckedGraph {
  const ids = checkIds(reader, path, nodes);
  const areNodesKnown = ({ from, to, path: at }: PlacedArrow): boolean => {
    const isKnown = ids.includes(to);
    if (!isKnown) reader.report(at.to, `there is no node ${to}${didYouMean(to, ids)}`);
    const isFromKnown = ids.includes(from);
    if (!isFromKnown) reader.report(at.from, `there is no node ${from}${didYouMean(from, ids)}`);
    return isKnown && isFromKnown;
  };
  const ofErrors = errorArrows(path, nodes).filter(areNodesKnown);
  const plain = plainArrows(path, connections).filter(areNodesKnown);
  checkDuplicates(reader, plain.map(toConnection));
  const arrows = [...ofErrors, ...plain].map(toConnection);
  const cycle = findCycle(ids, arrows);
  if (cycle !== undefined)
    reader.report(cycle.path, `creates a cycle: ${cycle.nodes.join(' → ')}; use a Loop to repeat nodes`);
  return { before: predecessorsIn(arrows) };
}

const toConnection = ({ from, to, path }: PlacedArrow): FileConnection => ({ from, to, path: path.to });

interface PlacedArrow {
  readonly from: string;
  readonly to: string;
  readonly path: { readonly from: string; readonly to: string };
}

function errorArrows(path: string, nodes: readonly (FileNode | undefined)[]): PlacedArrow[] {
  return nodes.flatMap((node, index) => {
    if (node?.on_error === undefined) return [];
    const at = joinPath(joinPath(joinPath(path, 'nodes'), index), 'on_error');
    return [{ from: node.id, to: node.on_error, path: { from: at, to: at } }];
  });
}

function plainArrows(
  path: string,
  connections: readonly ({ readonly from?: string; readonly to?: string } | undefined)[],
): PlacedArrow[] {
  return connections.flatMap((connection, index) => {
    const { from, to } = connection ?? {};
    if (from === undefined || to === undefined) return [];
    const at = joinPath(joinPath(path, 'connections'), index);
    return [{ from, to, path: { from: joinPath(at, 'from'), to: joinPath(at, 'to') } }];
  });
}

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
 * Two connections between the same nodes must be combined with `||`. A connection parallel to `on_error` is
 * allowed.
 */
function checkDuplicates(reader: SchemaReader, arrows: readonly FileConnection[]): void {
  const seen = new Set<string>();
  for (const { from, to, path } of arrows) {
    const key = `${from}\n${to}`;
    if (seen.has(key))
      reader.report(
        path,
        `${from} already leads to ${to}; write a single connection, with || between the conditions`,
      );
    seen.add(key);
  }
}

/** Returns the nodes of a cycle, and the path of the edge that closes it. */
function findCycle(
  ids: readonly string[],
  arrows: readonly FileConnection[],
): { readonly path: string; readonly nodes: readonly string[] } | undefined {
  const done = new Set<string>();
  const visitedIds: string[] = [];
  const visit = (id: string): ReturnType<typeof findCycle> => {
    visitedIds.push(id);
    for (const { from, to, path } of arrows) {
      if (from !== id || done.has(to)) continue;
      const at = visitedIds.indexOf(to);
      if (at !== -1) return { path, nodes: [...visitedIds.slice(at), to] };
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

function predecessorsIn(arrows: readonly FileConnection[]): (id: string) => ReadonlySet<string> {
  const cache = new Map<string, ReadonlySet<string>>();
  return (id) => {
    const found = cache.get(id);
    if (found !== undefined) return found;
    const before = new Set<string>();
    const waiting = [id];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
      for (const { from, to } of arrows)
        if (to === next && !before.has(from)) {
          before.add(from);
          waiting.push(from);
        }
    cache.set(id, before);
    return before;
  };
}
