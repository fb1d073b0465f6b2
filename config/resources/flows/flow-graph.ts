// What must be true of the nodes and connections of a flow together, so that it comes to an end, and all of it can run.

import { joinPath } from '../../reader/field-path.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { didYouMean } from './flow-names.ts';

interface GraphNode {
  readonly id: string;
  readonly on_error: string | undefined;
}

interface Arrow {
  readonly from: string;
  readonly to: string;
  /** Where it is written. */
  readonly path: string;
}

export interface CheckedGraph {
  /** Nodes that stand before that one on any way to it. */
  before(id: string): ReadonlySet<string>;
}

/** `path` is of what has the nodes. Reports cycles, names that are not there or twice, and nodes that nothing leads to. */
export function checkGraph(
  reader: SchemaReader,
  path: string,
  nodes: readonly (GraphNode | undefined)[],
  connections: readonly ({ readonly from?: string; readonly to?: string } | undefined)[],
): CheckedGraph {
  const ids = checkIds(reader, path, nodes);
  const known = ({ from, to, path: at }: PlacedArrow): boolean => {
    const isKnown = ids.includes(to);
    if (!isKnown) reader.report(at.to, `there is no node ${to}${didYouMean(to, ids)}`);
    const isFromKnown = ids.includes(from);
    if (!isFromKnown) reader.report(at.from, `there is no node ${from}${didYouMean(from, ids)}`);
    return isKnown && isFromKnown;
  };
  const ofErrors = errorArrows(path, nodes).filter(known);
  const plain = plainArrows(path, connections).filter(known);
  checkTwins(reader, plain.map(bare));
  const arrows = [...ofErrors, ...plain].map(bare);
  const cycle = cycleIn(ids, arrows);
  if (cycle !== undefined)
    reader.report(
      cycle.path,
      `leads back: ${cycle.nodes.join(' → ')}; what is to be done again stands in a Loop`,
    );
  return { before: beforeIn(arrows) };
}

const bare = ({ from, to, path }: PlacedArrow): Arrow => ({ from, to, path: path.to });

interface PlacedArrow {
  readonly from: string;
  readonly to: string;
  readonly path: { readonly from: string; readonly to: string };
}

function errorArrows(path: string, nodes: readonly (GraphNode | undefined)[]): PlacedArrow[] {
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
  nodes: readonly (GraphNode | undefined)[],
): readonly string[] {
  const ids: string[] = [];
  for (const [index, node] of nodes.entries()) {
    if (node === undefined) continue;
    if (ids.includes(node.id))
      reader.report(joinPath(joinPath(joinPath(path, 'nodes'), index), 'id'), `is there twice: ${node.id}`);
    ids.push(node.id);
  }
  return ids;
}

/** Two connections between the same nodes with other conditions are one with `||`; `on_error` beside one goes on in any case. */
function checkTwins(reader: SchemaReader, arrows: readonly Arrow[]): void {
  const seen = new Set<string>();
  for (const { from, to, path } of arrows) {
    const key = `${from}\n${to}`;
    if (seen.has(key))
      reader.report(
        path,
        `${from} leads to ${to} already; write one connection, with || between the conditions`,
      );
    seen.add(key);
  }
}

/** The arrow that closes a way which leads back to where it began. */
function cycleIn(
  ids: readonly string[],
  arrows: readonly Arrow[],
): { readonly path: string; readonly nodes: readonly string[] } | undefined {
  const done = new Set<string>();
  const way: string[] = [];
  const visit = (id: string): ReturnType<typeof cycleIn> => {
    way.push(id);
    for (const { from, to, path } of arrows) {
      if (from !== id || done.has(to)) continue;
      const at = way.indexOf(to);
      if (at !== -1) return { path, nodes: [...way.slice(at), to] };
      const found = visit(to);
      if (found !== undefined) return found;
    }
    way.pop();
    done.add(id);
    return undefined;
  };
  for (const id of ids) {
    const found = done.has(id) ? undefined : visit(id);
    if (found !== undefined) return found;
  }
  return undefined;
}

function beforeIn(arrows: readonly Arrow[]): (id: string) => ReadonlySet<string> {
  const known = new Map<string, ReadonlySet<string>>();
  return (id) => {
    const found = known.get(id);
    if (found !== undefined) return found;
    const before = new Set<string>();
    const waiting = [id];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
      for (const { from, to } of arrows)
        if (to === next && !before.has(from)) {
          before.add(from);
          waiting.push(from);
        }
    known.set(id, before);
    return before;
  };
}
