// Figures of runs, and who decides about what they ask, in words.

import type { ApprovalRow, DoneFigures, RunRow } from '../../wire/run-wire.ts';
import { count, counted, ms, span } from '../words.ts';

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
export function lasted({ received_at, ended_at }: RunRow, now: number): string {
  const end = ended_at ?? now;
  return ms(Math.max(0, end - received_at));
}

/** What there is to say of a run in a line beside its name and state. */
export function runLine(run: RunRow): string {
  const { model, trigger, conversation, iterations, tool_calls, input_tokens, output_tokens } = run;
  return [
    ...(model === null ? [] : [model]),
    trigger === null ? conversation : trigger,
    ...(run.kind === 'agent' ? [] : [run.kind]),
    ...(run.steps > 0 ? [counted(run.steps, 'step')] : []),
    ...(iterations > 0 ? [counted(iterations, 'model call')] : []),
    ...(tool_calls > 0 ? [counted(tool_calls, 'tool call')] : []),
    ...(input_tokens + output_tokens > 0 ? [counted(input_tokens + output_tokens, 'token')] : []),
    ...(run.cost === null ? [] : [`cost ${cost(run.cost)}`]),
  ].join(' · ');
}

/** The totals of one run. */
export function runFigures(run: RunRow, now: number): [string, string][] {
  const { iterations, tool_calls, input_tokens, output_tokens, worked_ms, steps } = run;
  return [
    ['steps', count(steps)],
    ['model calls', count(iterations)],
    ['tool calls', count(tool_calls)],
    ['tokens in', count(input_tokens)],
    ['tokens out', count(output_tokens)],
    ['cost', run.cost === null ? '–' : cost(run.cost)],
    ['worked', ms(worked_ms)],
    [run.ended_at === null ? 'since it came' : 'in all', lasted(run, now)],
  ];
}

/** What one that waits is waiting for. */
export function waitText(run: RunRow, now: number): string | undefined {
  const { waiting_for, until, attempts, next_attempt_at: next, ended_at } = run;
  if (next !== null && ended_at === null)
    return `attempt ${attempts + 1}, in ${span(Math.max(0, next - now))}`;
  if (waiting_for === null) return undefined;
  // Of what its parts wait for the first may be anything.
  if (run.kind === 'flow' || run.kind === 'fleet')
    return until === null ? 'its parts' : `its parts, until in ${span(Math.max(0, until - now))}`;
  const what = waiting_for === 'approval' ? 'somebody to approve' : 'its time to come';
  return until === null ? what : `${what}, until in ${span(Math.max(0, until - now))}`;
}

/** Who may decide beside operators; undefined: nobody. */
export function decidersText({
  approvers,
  channel,
}: Pick<ApprovalRow, 'approvers' | 'channel'>): string | undefined {
  if (approvers.length > 0) return approvers.join(', ');
  return channel === null ? undefined : `whoever is in ${channel}`;
}

/** What an agent, a fleet or a flow has done since the start. */
export function agentLine(agent: DoneFigures): string {
  const { runs, running, failed, iterations, tool_calls, input_tokens, output_tokens } = agent;
  return [
    `${counted(runs, 'answer')} since the start`,
    ...(running > 0 ? [`${count(running)} under way`] : []),
    ...(failed > 0 ? [counted(failed, 'failed attempt')] : []),
    ...(iterations > 0 ? [counted(iterations, 'model call')] : []),
    ...(tool_calls > 0 ? [counted(tool_calls, 'tool call')] : []),
    ...(input_tokens + output_tokens > 0 ? [counted(input_tokens + output_tokens, 'token')] : []),
    ...(agent.cost > 0 ? [`cost ${cost(agent.cost)}`] : []),
  ].join(' · ');
}
