// Converts a flow to nodes and arrows, before the layout. Each connection and each `on_error` is one arrow.
// The states of the nodes in a run determine which arrows the run took.

import type { NodeRecord } from '../../../http/api/run-shapes.ts';
import type { GraphRecord } from '../../../http/api/target-shapes.ts';

/** Connection between two nodes. Nodes are identified by their path: `poll/check`. */
export interface FlowArrow {
  readonly source: string;
  readonly target: string;
  /** Index among the connections of the source; undefined for `on_error`. */
  readonly index: number | undefined;
  readonly when: string | null;
}

export interface ChartNode {
  /** Path, with the loops around the node: `poll/check`. */
  readonly place: string;
  readonly id: string;
  readonly type: string;
  readonly description: string | null;
  readonly isLoop: boolean;
  /** Path of the surrounding loop; null outside of loops. */
  readonly loop: string | null;
}

export interface FlowParts {
  /** Nodes inside a loop follow it. */
  readonly nodes: readonly ChartNode[];
  readonly arrows: readonly FlowArrow[];
}

export function partsOf(graph: GraphRecord, loop: string | null = null): FlowParts {
  const placeOf = (id: string) => (loop === null ? id : `${loop}/${id}`);
  const nodes: ChartNode[] = [];
  const arrows: FlowArrow[] = [];
  const counts = new Map<string, number>();
  for (const { from, to, when } of graph.connections) {
    const index = counts.get(from) ?? 0;
    counts.set(from, index + 1);
    arrows.push({ source: placeOf(from), target: placeOf(to), index, when });
  }
  for (const { id, type, description, on_error, inside } of graph.nodes) {
    const place = placeOf(id);
    nodes.push({ place, id, type, description, isLoop: inside !== undefined, loop });
    if (on_error !== null)
      arrows.push({ source: place, target: placeOf(on_error), index: undefined, when: null });
    if (inside === undefined) continue;
    const inner = partsOf(inside, place);
    nodes.push(...inner.nodes);
    arrows.push(...inner.arrows);
  }
  return { nodes, arrows };
}

/** Maximum length of a line of an arrow's label, and maximum number of lines. */
const MAX_LINE = 18;
const MAX_LINES = 2;
const BREAK_AFTER = /[\s.,&|=<>()[\]]/;

/** Returns the lines of the arrow's label, truncated; none if the arrow is unconditional. */
export function arrowLabel(arrow: FlowArrow): readonly string[] {
  const lines: string[] = [];
  let rest = arrowText(arrow).trim();
  while (rest !== '' && lines.length < MAX_LINES) {
    const length = lines.length === MAX_LINES - 1 ? MAX_LINE : lineLength(rest);
    lines.push(rest.slice(0, length).trim());
    rest = rest.slice(length).trim();
  }
  if (rest !== '') lines.push(`${lines.pop()?.slice(0, MAX_LINE - 1)}…`);
  return lines;
}

/** Breaks after a space or an operator in the second half of the line, if possible. */
function lineLength(text: string): number {
  if (text.length <= MAX_LINE) return text.length;
  for (let length = MAX_LINE; length > MAX_LINE / 2; length -= 1)
    if (BREAK_AFTER.test(text[length - 1] ?? '')) return length;
  return MAX_LINE;
}

/** Returns the condition of the arrow; '' for unconditional arrows. */
export function arrowText({ index, when }: FlowArrow): string {
  return index === undefined ? 'on error' : (when ?? '');
}

/** `open`: not decided yet. */
export type ArrowState = 'taken' | 'untaken' | 'open';

/** Returns whether the run took the arrow, from the states of the nodes by path. */
export function arrowState(
  { source, target, index }: Pick<FlowArrow, 'source' | 'target' | 'index'>,
  nodes: ReadonlyMap<string, NodeRecord>,
): ArrowState {
  const { state, taken } = nodes.get(source) ?? {};
  if (state === 'done') {
    if (index === undefined) return 'untaken';
    // A node's targets are unique, so the id of the target identifies the connection.
    return taken?.includes(target.slice(target.lastIndexOf('/') + 1)) === true ? 'taken' : 'untaken';
  }
  if (state === 'failed') return index === undefined ? 'taken' : 'untaken';
  return state === 'skipped' || state === 'dropped' ? 'untaken' : 'open';
}
