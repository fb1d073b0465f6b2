// Formats the figures and states of runs as texts: cost, tokens, duration, and the reason for a delay.

import type { ApprovalRecord } from '../../../http/api/approval-shapes.ts';
import type { RunRecord, RunUsage } from '../../../http/api/run-shapes.ts';
import type { TargetStats } from '../../../http/api/target-shapes.ts';
import { count, ms, pluralize, timeUntil } from '../format.ts';

/**
 * Formats a cost with two significant digits, such as `0.0042`. The configured prices determine the
 * currency.
 */
export function cost(value: number): string {
  if (value === 0) return '0';
  if (value < 0.0001) return 'below 0.0001';
  return value >= 1 ? value.toFixed(2) : String(Number(value.toPrecision(2)));
}

export function tokens(input: number | undefined, output: number | undefined): string | undefined {
  if (input === undefined && output === undefined) return undefined;
  const countOf = (value: number | undefined) => (value === undefined ? '?' : count(value));
  return `${countOf(input)} ${input === 1 ? 'token' : 'tokens'} in, ${countOf(output)} out`;
}

/** Returns the time from acceptance to end, or until now. */
export function durationText({ received_at, ended_at }: RunRecord, now: number): string {
  const end = ended_at === null ? now : Date.parse(ended_at);
  return ms(Math.max(0, end - Date.parse(received_at)));
}

/** Returns a summary, without name and state. */
export function runLine({ trigger, conversation, kind, steps_count, usage }: RunRecord): string {
  const { model, ...amounts } = usage ?? NO_USAGE;
  return [
    ...(model === null ? [] : [model]),
    trigger === null ? conversation : trigger,
    ...(kind === 'agent' ? [] : [kind]),
    ...(steps_count > 0 ? [pluralize(steps_count, 'step')] : []),
    ...usageParts(amounts),
    ...(amounts.cost === null ? [] : [`cost ${cost(amounts.cost)}`]),
  ].join(' · ');
}

const NO_USAGE: RunUsage = {
  model: null,
  iterations: 0,
  tool_calls: 0,
  input_tokens: 0,
  output_tokens: 0,
  cost: null,
  worked_ms: 0,
};

function usageParts({
  iterations,
  tool_calls,
  input_tokens,
  output_tokens,
}: Omit<RunUsage, 'model' | 'cost' | 'worked_ms'>): readonly string[] {
  const usage = input_tokens + output_tokens;
  return [
    ...(iterations > 0 ? [pluralize(iterations, 'model call')] : []),
    ...(tool_calls > 0 ? [pluralize(tool_calls, 'tool call')] : []),
    ...(usage > 0 ? [pluralize(usage, 'token')] : []),
  ];
}

export function runFigures(run: RunRecord, now: number): [string, string][] {
  const usage = run.usage ?? NO_USAGE;
  const { iterations, tool_calls, input_tokens, output_tokens, worked_ms } = usage;
  return [
    ['steps', count(run.steps_count)],
    ['model calls', count(iterations)],
    ['tool calls', count(tool_calls)],
    ['tokens in', count(input_tokens)],
    ['tokens out', count(output_tokens)],
    ['cost', usage.cost === null ? '–' : cost(usage.cost)],
    ['worked', ms(worked_ms)],
    [run.ended_at === null ? 'running for' : 'total time', durationText(run, now)],
  ];
}

/** Returns the event that the run waits for. */
export function waitText(run: RunRecord, now: number): string | undefined {
  const { waiting_for, until, attempts, next_attempt_at: next, ended_at } = run;
  if (next !== null && ended_at === null) return `attempt ${attempts + 1}, in ${timeUntil(next, now)}`;
  if (waiting_for === null) return undefined;
  // A flow or fleet has parts, its nodes or members. `waiting_for` names only one of the waiting parts.
  if (run.kind === 'flow' || run.kind === 'fleet')
    return until === null ? 'its parts' : `its parts, for at most ${timeUntil(until, now)}`;
  const reason = waiting_for === 'approval' ? 'an approval' : 'its scheduled time';
  return until === null ? reason : `${reason}, for at most ${timeUntil(until, now)}`;
}

/** Returns the permitted deciders besides operators; undefined: operators only. */
export function decidersText({
  approvers,
  approval_channel: channel,
}: Pick<ApprovalRecord, 'approvers' | 'approval_channel'>): string | undefined {
  if (approvers.length > 0) return approvers.join(', ');
  return channel === null ? undefined : `any member of ${channel}`;
}

export function statsLine(stats: TargetStats): string {
  const { runs, running, failed } = stats;
  return [
    `${pluralize(runs, 'response')} since the start`,
    ...(running > 0 ? [`${count(running)} in progress`] : []),
    ...(failed > 0 ? [pluralize(failed, 'failed attempt')] : []),
    ...usageParts(stats),
    ...(stats.cost > 0 ? [`cost ${cost(stats.cost)}`] : []),
  ].join(' · ');
}

/**
 * Returns the reason for waiting. Notes of flows and fleets name the nodes; notes of earlier versions begin
 * with `it waits`.
 */
export function shortWait({ kind, waiting_for, note }: RunRecord): string {
  if ((kind === 'flow' || kind === 'fleet') && note !== null) return note.replace(/^(?:it )?waits /, '');
  return waiting_for === 'approval' ? 'for an approval' : '';
}
