// Output of `runs`: the list, a run with its steps, and results of changes. Also lines about a run for the
// commands that start runs.

import type { RunState } from '../../../actors/agents/runs/state.ts';
import type { RunDetails, RunList, RunRecord } from '../../http/api/run-shapes.ts';
import type { Paint, Style } from '../../terminal/paint.ts';
import { printable, printableLines } from '../../terminal/terminal-text.ts';
import { counted, latency } from './figures.ts';
import { localClock, localTime, optionalTime } from './local-time.ts';
import { memberTable, nodeTable, partWords } from './parts.ts';
import { shellWord } from './shell-word.ts';
import { type Column, table } from './table.ts';

const styles: Readonly<Record<RunState, Style>> = {
  queued: 'busy',
  running: 'busy',
  waiting: 'busy',
  done: 'good',
  failed: 'bad',
  cancelled: 'faint',
};

export function runTable({ runs, next_before }: RunList, paint: Paint, width?: number): string[] {
  if (runs.length === 0) return ['no runs'];
  const columns: Column<RunRecord>[] = [
    { title: 'RECEIVED', text: ({ received_at }) => localTime(received_at) },
    { title: 'STATE', text: stateText, paint: ({ state }, text) => paint(styles[state], text) },
    { title: 'KIND', text: ({ kind }) => kind },
    { title: 'NAME', text: ({ name }) => name },
    { title: 'STEPS', isNumber: true, text: ({ steps_count }) => String(steps_count) },
    { title: 'CALLS', isNumber: true, text: ({ usage }) => String(usage?.tool_calls ?? 0) },
    { title: 'TOKENS', isNumber: true, text: tokens },
    { title: 'COST', isNumber: true, text: ({ usage }) => costText(usage?.cost) },
    { title: 'WORKED', isNumber: true, text: ({ usage }) => latency(usage?.worked_ms ?? null) },
    { title: 'ID', text: ({ id }) => id },
    { title: 'NOTE', text: ({ note }) => note ?? '' },
  ];
  const more = next_before === null ? [] : [paint('faint', `more: --before ${next_before}`)];
  return [...table(columns, runs, width), ...more];
}

const stateText = ({ state, waiting_for }: RunRecord) =>
  waiting_for === null ? state : `${state} (${waiting_for})`;

const tokens = ({ usage }: RunRecord) =>
  usage === null ? '-' : `${usage.input_tokens}+${usage.output_tokens}`;

const costText = (cost: number | null | undefined) =>
  cost === null || cost === undefined ? '-' : cost.toPrecision(3);

/** Returns why a run is delayed and for how long; undefined if the run is not delayed. */
export function delayLine(run: RunRecord, now: number): string | undefined {
  const { state, note, attempts, next_attempt_at } = run;
  if (note === null) return undefined;
  if (state === 'running' && next_attempt_at !== null)
    return `${note}; attempt ${attempts + 1} starts in ${latency(Math.max(0, Date.parse(next_attempt_at) - now))}`;
  return state === 'queued' ? note : undefined;
}

export const retryLine = ({ reason, in_ms }: { readonly reason: string; readonly in_ms: number }): string =>
  `${reason}; retrying ${in_ms === 0 ? 'now' : `in ${latency(in_ms)}`}`;

export const detachedLine = (id: string): string =>
  `the run continues: "runs show ${shellWord(id)}" shows its result`;

export const UNFINISHED_LINE = 'the run had not ended and stops with this command; increase --wait';

export const RECONNECT_LINE = 'the connection to the gateway was lost; reconnecting';

export function runLine({ id, state }: Pick<RunRecord, 'id' | 'state'>): string {
  return `${printable(id)} is ${state}`;
}

/** Output width if stdout is not a terminal. */
const DEFAULT_WIDTH = 120;

export function runPage(run: RunDetails, paint: Paint, width = DEFAULT_WIDTH): string[] {
  const { usage, note, answer, until, steps, next_after, nodes = [], members = [] } = run;
  const partWidth = Math.min(MAX_PART_WIDTH, Math.max(0, ...steps.map((step) => partOf(step).length)));
  const entries: readonly (readonly [string, string])[] = [
    ['run', printable(run.id)],
    [run.kind, printable(run.name)],
    ['state', paint(styles[run.state], stateText(run))],
    ...(until === null ? [] : [['until', localTime(until)] as const]),
    ['trigger', printable(run.trigger ?? '-')],
    ['conversation', printable(run.conversation)],
    ['received', localTime(run.received_at)],
    ['started', optionalTime(run.started_at)],
    ['ended', optionalTime(run.ended_at)],
    ...(usage === null
      ? []
      : [
          ['model', printable(usage.model ?? '-')] as const,
          [
            'usage',
            `${counted(usage.iterations, 'model call')}, ${counted(usage.tool_calls, 'tool call')}, ${usage.input_tokens} tokens in, ${usage.output_tokens} out, cost ${costText(usage.cost)}, ${latency(usage.worked_ms)} of work`,
          ] as const,
        ]),
    ...(note === null ? [] : [['note', printable(note)] as const]),
    ...run.failures.map(
      ({ attempt, at, note: why }) => [`attempt ${attempt}`, `${localTime(at)} ${printable(why)}`] as const,
    ),
  ];
  return [
    ...entries.map(([name, text]) => `${name.padEnd(12)}  ${text}`),
    ...(nodes.length === 0 ? [] : ['', ...nodeTable(nodes, paint, width)]),
    ...(members.length === 0 ? [] : ['', ...memberTable(members, paint, width)]),
    ...(steps.length === 0 ? [] : ['', 'steps']),
    ...steps.map((step) => stepLine(step, paint, width, partWidth)),
    ...(next_after === null ? [] : [paint('faint', `more: --after ${next_after}`)]),
    ...(answer === null ? [] : ['', 'answer', printableLines(answer)]),
  ];
}

/** Maximum width of the column of parts. */
const MAX_PART_WIDTH = 32;

type RunStep = RunDetails['steps'][number];

/**
 * Returns the part of the run that made the step: a flow node or a fleet member. Empty for steps of the whole
 * run, and for raw rows (`runs show --raw`).
 */
const partOf = (step: RunStep): string => ('row' in step ? '' : printable(step.part ?? ''));

function stepLine(step: RunStep, paint: Paint, width: number, partWidth: number): string {
  const n = String(step.n).padStart(4);
  const at = localClock(step.at);
  if ('row' in step) return `${n}  ${at}  ${printable(JSON.stringify(step.row))}`;
  const took = step.took_ms === undefined ? '' : latency(step.took_ms);
  const part = partWidth === 0 ? '' : `${partOf(step).slice(0, partWidth).padEnd(partWidth)}  `;
  const head = `${n}  ${at}  ${part}${printable(step.kind).padEnd(7)}  ${took.padStart(6)}  `;
  // A `kept` row only stores the state of a part, which is internal data.
  if (step.kind === 'kept') return paint('faint', head.trimEnd());
  const state = step.state ?? '';
  const isBad = step.kind === 'failed' || state === 'failed' || state === 'denied' || state === 'interrupted';
  const words = [
    step.model ?? '',
    step.tokens === undefined ? '' : `${step.tokens.input ?? '?'}+${step.tokens.output ?? '?'} tokens`,
    step.tool ?? '',
    step.approval ?? '',
    state,
    step.by === undefined ? '' : `by ${step.by}`,
    ...partWords(step),
    step.kind === 'called' ? (step.arguments ?? '') : (step.result ?? step.text ?? ''),
  ];
  const text = printable(words.filter((word) => word !== '').join('  '));
  const cut = text.slice(0, Math.max(20, width - head.length));
  if (cut === '') return head.trimEnd();
  // Yellow, because red is for states of runs.
  return head + (isBad ? paint('busy', cut) : cut);
}
