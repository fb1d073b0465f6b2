// Describes the state of nodes, members and connections in a run.

import type { MemberRecord, NodeRecord } from '../../../http/api/run-shapes.ts';
import { ms, pluralize, timeUntil } from '../format.ts';
import { type ArrowState, arrowState, arrowText, type FlowArrow } from './graph.ts';

/** Signs by state. A `dropped` node or member was stopped, because the run no longer needed its result. */
const signs: Readonly<Record<string, string>> = {
  working: '▸',
  waiting: '…',
  done: '✓',
  failed: '✗',
  skipped: '–',
  dropped: '–',
};

/** Returns the state as a text. `isOver`: the run has ended. */
export function nodeState(node: Pick<NodeRecord, 'state'> | undefined, isOver: boolean): string {
  const state = node?.state ?? 'idle';
  if (state === 'idle') return isOver ? 'not reached' : 'not started';
  return state === 'working' ? 'running' : state;
}

/** Returns the text in the node's box: sign, state and duration. */
export function nodeLine(node: NodeRecord | undefined, isOver: boolean, now: number): string {
  if (node === undefined || node.state === 'idle') return '';
  const sign = signs[node.state] ?? '';
  const label = `${sign} ${nodeState(node, isOver)}`;
  if (node.state === 'waiting') {
    if (node.for_people) return `${label} for people`;
    return node.until === null ? label : `${label} · ${timeUntil(node.until, now)}`;
  }
  if (node.state === 'working') return node.attempts > 1 ? `${label} · attempt ${node.attempts}` : label;
  const took = tookText(node);
  return took === undefined || node.state === 'skipped' || node.state === 'dropped'
    ? label
    : `${label} · ${took}`;
}

export function tookText({ took_ms }: Pick<NodeRecord, 'took_ms'>): string | undefined {
  return took_ms === null ? undefined : ms(took_ms);
}

/** Returns the awaited event; undefined unless the node is waiting. */
export function waitingFor(node: NodeRecord, type: string, now: number): string | undefined {
  if (node.state !== 'waiting') return undefined;
  const time = node.until === null ? undefined : timeUntil(node.until, now);
  if (node.for_people) return time === undefined ? 'a decision' : `a decision, for at most ${time}`;
  // `why` of a waiting node is its last error: it waits for a retry.
  if (node.why !== null) return `next attempt${time === undefined ? '' : `, in ${time}`}`;
  const event = type === 'Wait' ? 'its scheduled time' : 'a scheduled time';
  return time === undefined ? event : `${event}, in ${time}`;
}

/** Returns `iteration 3` for a loop; otherwise undefined. */
export function turnText({ turn }: Pick<NodeRecord, 'turn'>): string | undefined {
  return turn === null ? undefined : `iteration ${turn}`;
}

/** Returns the reason why an arrow was or was not taken. */
export function arrowReason(arrow: FlowArrow, nodes: ReadonlyMap<string, NodeRecord>): string {
  const state: ArrowState = arrowState(arrow, nodes);
  const source = nodes.get(arrow.source)?.state ?? 'idle';
  const text = arrowText(arrow);
  if (state === 'taken') return arrow.index === undefined ? 'taken: the node failed' : 'taken';
  if (state === 'open') return 'pending';
  if (source === 'skipped') return 'not taken: the node was skipped';
  if (source === 'dropped') return 'not taken: the node did not finish';
  if (arrow.index === undefined) return 'not taken: the node did not fail';
  return source === 'failed' ? 'not taken: the node failed' : `not taken: ${text} is false`;
}

/** Returns the number of nodes per state. */
export function summary(nodes: readonly (NodeRecord | undefined)[], isOver: boolean): string {
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const label = nodeState(node, isOver);
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  return [pluralize(nodes.length, 'node'), ...[...counts].map(([label, n]) => `${n} ${label}`)].join(' · ');
}

export function memberState({ state }: Pick<MemberRecord, 'state'>, isOver: boolean): string {
  if (state === 'idle') return isOver ? 'not started' : 'waiting to start';
  return state === 'dropped' ? 'not needed' : state === 'working' ? 'running' : state;
}
