// Figures of runs, and who decides about what they ask, in words.

import type { ApprovalRecord } from '../../../http/api/approval-shapes.ts';
import type { RunRecord, RunUsage } from '../../../http/api/run-shapes.ts';
import type { TargetStats } from '../../../http/api/target-shapes.ts';
import { count, counted, left, ms } from '../words.ts';

/** `0.0042`, in the unit of the prices: as many digits as say something. */
export function cost(value: number): string {
  if (value === 0) return '0';
  if (value < 0.0001) return 'under 0.0001';
  return value >= 1 ? value.toFixed(2) : String(Number(value.toPrecision(2)));
}

export function tokens(input: number | undefined, output: number | undefined): string | undefined {
  if (input === undefined && output === undefined) return undefined;
  const of = (value: number | undefined) => (value === undefined ? '?' : count(value));
  return `${of(input)} ${input === 1 ? 'token' : 'tokens'} in, ${of(output)} out`;
}

/** From its acceptance to its end, or until now. */
export function lasted({ received_at, ended_at }: RunRecord, now: number): string {
  const end = ended_at === null ? now : Date.parse(ended_at);
  return ms(Math.max(0, end - Date.parse(received_at)));
}

/** What there is to say of a run in a line beside its name and state. */
export function runLine({ trigger, conversation, kind, steps_count, usage }: RunRecord): string {
  const { model, ...used } = usage ?? NO_USAGE;
  return [
    ...(model === null ? [] : [model]),
    trigger === null ? conversation : trigger,
    ...(kind === 'agent' ? [] : [kind]),
    ...(steps_count > 0 ? [counted(steps_count, 'step')] : []),
    ...usedWords(used),
    ...(used.cost === null ? [] : [`cost ${cost(used.cost)}`]),
  ].join(' · ');
}

const NO_USAGE: RunUsage = {
  ...{ model: null, iterations: 0, tool_calls: 0, input_tokens: 0, output_tokens: 0, cost: null },
  worked_ms: 0,
};

function usedWords({
  iterations,
  tool_calls,
  input_tokens,
  output_tokens,
}: Omit<RunUsage, 'model' | 'cost' | 'worked_ms'>): readonly string[] {
  const used = input_tokens + output_tokens;
  return [
    ...(iterations > 0 ? [counted(iterations, 'model call')] : []),
    ...(tool_calls > 0 ? [counted(tool_calls, 'tool call')] : []),
    ...(used > 0 ? [counted(used, 'token')] : []),
  ];
}

/** The totals of one run. */
export function runFigures(run: RunRecord, now: number): [string, string][] {
  const used = run.usage ?? NO_USAGE;
  const { iterations, tool_calls, input_tokens, output_tokens, worked_ms } = used;
  return [
    ['steps', count(run.steps_count)],
    ['model calls', count(iterations)],
    ['tool calls', count(tool_calls)],
    ['tokens in', count(input_tokens)],
    ['tokens out', count(output_tokens)],
    ['cost', used.cost === null ? '–' : cost(used.cost)],
    ['worked', ms(worked_ms)],
    [run.ended_at === null ? 'since it came' : 'in all', lasted(run, now)],
  ];
}

/** What one that waits is waiting for. */
export function waitText(run: RunRecord, now: number): string | undefined {
  const { waiting_for, until, attempts, next_attempt_at: next, ended_at } = run;
  if (next !== null && ended_at === null) return `attempt ${attempts + 1}, in ${left(next, now)}`;
  if (waiting_for === null) return undefined;
  // Of what its parts wait for the first may be anything.
  if (run.kind === 'flow' || run.kind === 'fleet')
    return until === null ? 'its parts' : `its parts, until in ${left(until, now)}`;
  const what = waiting_for === 'approval' ? 'somebody to approve' : 'its time to come';
  return until === null ? what : `${what}, until in ${left(until, now)}`;
}

/** Who may decide beside operators; undefined: nobody. */
export function decidersText({
  approvers,
  approval_channel: channel,
}: Pick<ApprovalRecord, 'approvers' | 'approval_channel'>): string | undefined {
  if (approvers.length > 0) return approvers.join(', ');
  return channel === null ? undefined : `whoever is in ${channel}`;
}

/** What an agent, a fleet or a flow has done since the start. */
export function doneLine(done: TargetStats): string {
  const { runs, running, failed } = done;
  return [
    `${counted(runs, 'answer')} since the start`,
    ...(running > 0 ? [`${count(running)} under way`] : []),
    ...(failed > 0 ? [counted(failed, 'failed attempt')] : []),
    ...usedWords(done),
    ...(done.cost > 0 ? [`cost ${cost(done.cost)}`] : []),
  ].join(' · ');
}
