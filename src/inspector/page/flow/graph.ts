// Converts a flow to boxes and arrows, before the layout. Each connection and each `on_error` is one arrow.
// The states of the nodes in a run determine which arrows the run took.

import type { NodeRecord } from '../../../http/api/run-shapes.ts';
import type { GraphRecord } from '../../../http/api/target-shapes.ts';
import type { Graph, GraphBox } from '../chart/graph.ts';

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

/** Longest state text. Each box has space for it, because states change during a run. */
const WIDEST = 'waiting for people';
/** Maximum length of the label on the arrow; the node pane shows the complete condition. */
const MAX_LABEL = 34;

/** Returns the graph for the layout, with dots instead of slashes in paths. */
export function graphOfFlow({ nodes, arrows }: FlowParts): Graph {
  const withIncoming = new Set(arrows.map(({ target }) => target));
  const withOutgoing = new Set(arrows.map(({ source }) => source));
  const lasts = new Map(
    nodes.filter(({ place }) => !withOutgoing.has(place)).map(({ loop, place }) => [loop, place]),
  );
  const boxes = nodes.map(({ place, id, type, isLoop, loop }): GraphBox => {
    const notes = [type, WIDEST].map((text) => ({ event: '', text }));
    return {
      path: dotPath(place),
      label: id,
      parent: loop === null ? null : dotPath(loop),
      isCluster: isLoop,
      isFinal: false,
      isInitial: !withIncoming.has(place),
      notes,
      isLast: lasts.get(loop) === place,
    };
  });
  return {
    boxes,
    arrows: arrows.map((arrow) => ({
      source: dotPath(arrow.source),
      target: dotPath(arrow.target),
      labels: [{ event: '', text: arrowLabel(arrow) }],
    })),
    everywhere: [],
  };
}

/** Returns the text of the arrow, truncated for its label. */
export function arrowLabel(arrow: FlowArrow): string {
  const text = arrowText(arrow);
  return text.length <= MAX_LABEL ? text : `${text.slice(0, MAX_LABEL - 1)}…`;
}

/** Returns the condition of the arrow; '' for unconditional arrows. */
export function arrowText({ index, when }: FlowArrow): string {
  return index === undefined ? 'on error' : (when ?? '');
}

/** Returns a node's path with dots, as the layout requires. */
export const dotPath = (place: string): string => place.replaceAll('/', '.');

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
    // The targets of a node are unique, so the id of the target identifies the connection.
    return taken?.includes(target.slice(target.lastIndexOf('/') + 1)) === true ? 'taken' : 'untaken';
  }
  if (state === 'failed') return index === undefined ? 'taken' : 'untaken';
  return state === 'skipped' || state === 'dropped' ? 'untaken' : 'open';
}
