// What a run may use. Nothing more is begun once that is used up; the answer that used it up still counts.
//
// BG1  no model is asked and no tool called when tokens or cost are used up, and no more tools than `tool_calls` says.
// BG2  neither is it after an answer that nobody has counted: a bound that it does not count towards would be none.

import type { JournalRow, RunFigures } from './journal.ts';

/** Undefined is without a bound. */
export interface RunBudget {
  readonly tokens: number | undefined;
  readonly tool_calls: number | undefined;
  readonly cost: number | undefined;
}

/** What is used up, in words; `moreCalls` are to be made now. */
export function usedUp(budget: RunBudget, used: RunFigures, moreCalls: number): string | undefined {
  const { tokens, tool_calls, cost } = budget;
  const usedTokens = used.input_tokens + used.output_tokens;
  if (tokens !== undefined && usedTokens >= tokens)
    return `budget.tokens (${tokens}) is used up: it has used ${usedTokens}`;
  if (cost !== undefined && (used.cost ?? 0) >= cost)
    return `budget.cost (${cost}) is used up: it has used ${used.cost}`;
  if (tool_calls !== undefined && used.tool_calls + moreCalls > tool_calls)
    return `budget.tool_calls (${tool_calls}) is used up: it has made ${used.tool_calls}, and its model wants ${moreCalls} more`;
  return undefined;
}

/** Which bound cannot be held after these rows, in words. */
export function uncounted({ tokens, cost }: RunBudget, rows: readonly JournalRow[]): string | undefined {
  for (const row of rows) {
    if (row.kind !== 'answer') continue;
    const { model, usage } = row;
    const isCounted = usage.input !== undefined && usage.output !== undefined;
    if (tokens !== undefined && !isCounted) return fault('tokens', `${model} has not said how many it used`);
    if (cost !== undefined && row.cost === undefined)
      return fault('cost', `what ${model} has used is not known, or has no price`);
  }
  return undefined;
}

const fault = (bound: string, why: string) =>
  `budget.${bound} cannot be held: ${why}; bound it by max_iterations or budget.tool_calls instead`;
