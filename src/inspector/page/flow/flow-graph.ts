// A flow as boxes and arrows, before anything has a place, and what the nodes of a run make of them: which arrows were taken, which were
// not, which are not decided.
//
// FGR1  every connection is an arrow of its own, and so is what leads to `on_error`.

import type { NodeRecord } from '../../../http/api/run-shapes.ts';
import type { GraphRecord } from '../../../http/api/target-shapes.ts';
import type { Graph, GraphBox } from '../chart/chart-graph.ts';

/** One arrow of a flow. Places are those of nodes: `poll/check`. */
export interface FlowArrow {
  readonly source: string;
  readonly target: string;
  /** Among the connections of its source; undefined where it is taken by a failure. */
  readonly index: number | undefined;
  readonly when: string | null;
}

export interface FlowNode {
  readonly place: string;
  readonly id: string;
  readonly type: string;
  readonly description: string | null;
  readonly isLoop: boolean;
  /** Of the loop around it; null for one that stands in none. */
  readonly loop: string | null;
}

export interface FlowParts {
  /** Those of a loop after it. */
  readonly nodes: readonly FlowNode[];
  readonly arrows: readonly FlowArrow[];
}

export function partsOf(graph: GraphRecord, loop: string | null = null): FlowParts {
  const placeOf = (id: string) => (loop === null ? id : `${loop}/${id}`);
  const nodes: FlowNode[] = [];
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

/** Room for what is said of a state. */
const WIDEST = 'waiting for people';
/** Of a condition on its arrow; the pane of the node has all of it. */
const MAX_LABEL = 34;

/** For the layout. A slash in a place is a dot there. */
export function graphOfFlow({ nodes, arrows }: FlowParts): Graph {
  const entered = new Set(arrows.map(({ target }) => target));
  const left = new Set(arrows.map(({ source }) => source));
  const lasts = new Map(
    nodes.filter(({ place }) => !left.has(place)).map(({ loop, place }) => [loop, place]),
  );
  const boxes = nodes.map(({ place, id, type, isLoop, loop }): GraphBox => {
    const notes = [type, WIDEST].map((text) => ({ event: '', text }));
    return {
      ...{ path: dotted(place), label: id, parent: loop === null ? null : dotted(loop) },
      ...{ isCluster: isLoop, isFinal: false, isInitial: !entered.has(place), notes },
      isLast: lasts.get(loop) === place,
    };
  });
  return {
    boxes,
    arrows: arrows.map((arrow) => ({
      source: dotted(arrow.source),
      target: dotted(arrow.target),
      labels: [{ event: '', text: arrowLabel(arrow) }],
    })),
    everywhere: [],
  };
}

export function arrowLabel(arrow: FlowArrow): string {
  const text = arrowText(arrow);
  return text.length <= MAX_LABEL ? text : `${text.slice(0, MAX_LABEL - 1)}…`;
}

/** What has to be so for it to be taken; '' for one that always is. */
export function arrowText({ index, when }: FlowArrow): string {
  return index === undefined ? 'on error' : (when ?? '');
}

export const dotted = (place: string): string => place.replaceAll('/', '.');

export type ArrowState = 'taken' | 'untaken' | 'open';

export function arrowState(
  { source, target, index }: Pick<FlowArrow, 'source' | 'target' | 'index'>,
  nodes: ReadonlyMap<string, NodeRecord>,
): ArrowState {
  const { state, taken } = nodes.get(source) ?? {};
  if (state === 'done') {
    if (index === undefined) return 'untaken';
    // No two connections of a node have the same target.
    return taken?.includes(target.slice(target.lastIndexOf('/') + 1)) === true ? 'taken' : 'untaken';
  }
  if (state === 'failed') return index === undefined ? 'taken' : 'untaken';
  return state === 'skipped' || state === 'dropped' ? 'untaken' : 'open';
}
