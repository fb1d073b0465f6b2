// How far a node of a flow has come, in words.

import type { MemberRecord, NodeRecord } from '../../../http/api/run-shapes.ts';
import { counted, left, ms } from '../words.ts';
import { type ArrowState, arrowState, arrowText, type FlowArrow } from './flow-graph.ts';

const signs: Readonly<Record<string, string>> = {
  ...{ working: '▸', waiting: '…', done: '✓', failed: '✗', skipped: '–', dropped: '–' },
};

/** The state in a word; `isOver`: of the run. */
export function nodeState(node: Pick<NodeRecord, 'state'> | undefined, isOver: boolean): string {
  const state = node?.state ?? 'idle';
  if (state === 'idle') return isOver ? 'not reached' : 'not yet';
  return state === 'working' ? 'running' : state;
}

/** The same in a short line of a box, with a sign. */
export function nodeLine(node: NodeRecord | undefined, isOver: boolean, now: number): string {
  if (node === undefined || node.state === 'idle') return '';
  const sign = signs[node.state] ?? '';
  const word = `${sign} ${nodeState(node, isOver)}`;
  if (node.state === 'waiting') {
    if (node.for_people) return `${word} for people`;
    return node.until === null ? word : `${word} · ${left(node.until, now)}`;
  }
  if (node.state === 'working') return node.attempts > 1 ? `${word} · try ${node.attempts}` : word;
  const took = tookText(node);
  return took === undefined || node.state === 'skipped' || node.state === 'dropped'
    ? word
    : `${word} · ${took}`;
}

export function tookText({ took_ms }: Pick<NodeRecord, 'took_ms'>): string | undefined {
  return took_ms === null ? undefined : ms(took_ms);
}

/** What one that waits is waiting for; undefined for any other. */
export function nodeWaits(node: NodeRecord, type: string, now: number): string | undefined {
  if (node.state !== 'waiting') return undefined;
  const time = node.until === null ? undefined : left(node.until, now);
  if (node.for_people)
    return time === undefined ? 'somebody to decide' : `somebody to decide, for ${time} at the most`;
  if (node.why !== null) return `the next attempt${time === undefined ? '' : `, in ${time}`}`;
  const what = type === 'Wait' ? 'its time to come' : 'a time';
  return time === undefined ? what : `${what}, in ${time}`;
}

/** `turn 3`, and nothing for what is no loop. */
export function turnText({ turn }: Pick<NodeRecord, 'turn'>): string | undefined {
  return turn === null ? undefined : `turn ${turn}`;
}

/** Why an arrow was taken or not, in the words of its ends. */
export function arrowWords(arrow: FlowArrow, nodes: ReadonlyMap<string, NodeRecord>): string {
  const state: ArrowState = arrowState(arrow, nodes);
  const source = nodes.get(arrow.source)?.state ?? 'idle';
  const text = arrowText(arrow);
  if (state === 'taken') return arrow.index === undefined ? 'taken: it failed' : 'taken';
  if (state === 'open') return 'not decided yet';
  if (source === 'skipped') return 'not taken: it was skipped';
  if (source === 'dropped') return 'not taken: it came to no end';
  if (arrow.index === undefined) return 'not taken: it did not fail';
  return source === 'failed' ? 'not taken: it failed' : `not taken: ${text} does not hold`;
}

/** How many nodes are in which state, for a line above all of them. */
export function summary(nodes: readonly (NodeRecord | undefined)[], isOver: boolean): string {
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const word = nodeState(node, isOver);
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [counted(nodes.length, 'node'), ...[...counts].map(([word, n]) => `${n} ${word}`)].join(' · ');
}

export function memberState({ state }: Pick<MemberRecord, 'state'>, isOver: boolean): string {
  if (state === 'idle') return isOver ? 'not asked' : 'not asked yet';
  return state === 'dropped' ? 'not needed' : state === 'working' ? 'running' : state;
}
