// Formats the parts of a run, which are flow nodes or fleet members: tables for `runs show`, and
// progress lines.

import type { MemberRecord, NodeRecord, StepRecord } from '../../http/api/run-shapes.ts';
import type { Paint, Style } from '../../terminal/paint.ts';
import { latency } from './figures.ts';
import { localClock, localSeconds } from './local-time.ts';
import { type Column, table } from './table.ts';

const styles: Readonly<Record<NodeRecord['state'], Style>> = {
  idle: 'faint',
  working: 'busy',
  waiting: 'busy',
  done: 'good',
  failed: 'bad',
  skipped: 'faint',
  dropped: 'faint',
};

const tookColumn = {
  title: 'TOOK',
  isNumber: true,
  text: ({ took_ms }: Pick<MemberRecord, 'took_ms'>) => latency(took_ms),
};
const beganColumn = {
  title: 'BEGAN',
  text: ({ started_at }: Pick<MemberRecord, 'started_at'>) =>
    started_at === null ? '-' : localClock(localSeconds(started_at)),
};
const whyColumn = {
  title: 'REASON OR OUTPUT',
  text: ({ why, output }: Pick<MemberRecord, 'why' | 'output'>) => why ?? output ?? '',
};

export function nodeTable(nodes: readonly NodeRecord[], paint: Paint, width?: number): string[] {
  const columns: Column<NodeRecord>[] = [
    { title: 'NODE', text: ({ path }) => path },
    { title: 'TYPE', text: ({ type }) => type },
    { title: 'STATE', text: nodeState, paint: ({ state }, text) => paint(styles[state], text) },
    beganColumn,
    tookColumn,
    { title: 'TRIES', isNumber: true, text: ({ attempts }) => String(attempts) },
    whyColumn,
  ];
  return table(columns, nodes, width);
}

function nodeState({ state, turn, until, for_people }: NodeRecord): string {
  const notes = [
    ...(turn === null ? [] : [`turn ${turn}`]),
    ...(for_people ? ['for approval'] : []),
    ...(until === null ? [] : [`until ${localSeconds(until)}`]),
  ];
  return notes.length === 0 ? state : `${state} (${notes.join(', ')})`;
}

export function memberTable(members: readonly MemberRecord[], paint: Paint, width?: number): string[] {
  const columns: Column<MemberRecord>[] = [
    { title: 'MEMBER', text: ({ path }) => path },
    {
      title: 'STATE',
      text: ({ state }) => state,
      paint: ({ state }, text) => paint(styles[state], text),
    },
    beganColumn,
    tookColumn,
    whyColumn,
  ];
  return table(columns, members, width);
}

/** Returns the step's details, for a single line. */
export function partWords(step: StepRecord): readonly string[] {
  const { kind, taken, turn, waiting_for: waitsFor, until, reason, output, arguments: argumentText } = step;
  return [
    ...(kind === 'flow' && argumentText !== undefined && argumentText !== '{}' ? [argumentText] : []),
    ...(turn === undefined ? [] : [`turn ${turn}`]),
    ...(waitsFor === undefined ? [] : [`for ${waitsFor}`]),
    ...(typeof until === 'string' ? [`until ${localSeconds(until)}`] : []),
    ...(taken === undefined || taken.length === 0 ? [] : [`→ ${taken.join(', ')}`]),
    ...(reason === undefined ? [] : [reason]),
    ...(output === undefined || output === 'null' || output === '{}' ? [] : [output]),
  ];
}

/** Returns a progress line such as `check has started`; undefined for unimportant steps. */
export function partLine(step: StepRecord): string | undefined {
  const { part = '', kind, waiting_for: waitsFor, until, reason = '', turn, taken = [] } = step;
  const time = typeof until === 'string' ? localSeconds(until) : undefined;
  const untilText = time === undefined ? '' : ` until ${time}`;
  switch (kind) {
    case 'entered':
      return `${part} has started`;
    case 'retried':
      return `${part} continues`;
    case 'turn':
      return `${part}: turn ${turn ?? ''}`;
    case 'waits':
    case 'parked':
      return `${part} waits${waitsFor === 'approval' ? ' for approval' : ''}${untilText}`;
    case 'again':
      return `${part} has failed and is retried${time === undefined ? '' : ` at ${time}`}: ${reason}`;
    case 'left':
      return `${part} is done${taken.length === 0 ? '' : `, continuing with ${taken.join(', ')}`}`;
    case 'ended':
      return `${part} has answered`;
    case 'failed':
      return `${part} has failed: ${reason}`;
    case 'dropped':
      return `${part} is no longer needed`;
    default:
      return undefined;
  }
}
