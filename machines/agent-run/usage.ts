// Run usage (tokens, cost, calls), computed from the journal, for lists and for the budget. The response that
// exceeds a budget is kept. Afterwards the run calls no model and no tool. The same applies if a response has
// no usage data, because the budget cannot be enforced. A run never makes more tool calls than `tool_calls`.

import type { JournalRow, RunFigures } from './journal.ts';

/** Undefined means unlimited. */
export interface RunBudget {
  readonly tokens: number | undefined;
  readonly tool_calls: number | undefined;
  readonly cost: number | undefined;
}

/** Returns a description of the exhausted limit, if any. `moreCalls` are pending. */
export function exhaustedLimit(budget: RunBudget, used: RunFigures, moreCalls: number): string | undefined {
  const { tokens, tool_calls, cost } = budget;
  const usedTokens = used.input_tokens + used.output_tokens;
  if (tokens !== undefined && usedTokens >= tokens)
    return `budget.tokens (${tokens}) is used up: the run has used ${usedTokens}`;
  if (cost !== undefined && (used.cost ?? 0) >= cost)
    return `budget.cost (${cost}) is used up: the run has used ${used.cost}`;
  if (tool_calls !== undefined && used.tool_calls + moreCalls > tool_calls)
    return `budget.tool_calls (${tool_calls}) is used up: the run has made ${used.tool_calls} calls, and the model requests ${moreCalls} more`;
  return undefined;
}

/** Returns a description of the limit that cannot be enforced after these rows, if any. */
export function unenforceableLimit(
  { tokens, cost }: RunBudget,
  rows: readonly JournalRow[],
): string | undefined {
  for (const row of rows) {
    if (row.kind !== 'answer') continue;
    const { model, usage } = row;
    const isCounted = usage.input !== undefined && usage.output !== undefined;
    if (tokens !== undefined && !isCounted) return fault('tokens', `${model} did not report token usage`);
    if (cost !== undefined && row.cost === undefined)
      return fault('cost', `the usage of ${model} is unknown or has no price`);
  }
  return undefined;
}

const fault = (bound: string, why: string) =>
  `budget.${bound} cannot be enforced: ${why}; set max_iterations or budget.tool_calls instead`;

/** Returns the run usage. `workedMs` is the total work time. */
export function figuresOf(rows: readonly JournalRow[], workedMs: number): RunFigures {
  const used = new UsageCounter();
  for (const row of rows) used.add(row);
  return used.after(workedMs);
}

/** Adds up usage row by row, so that each step costs the same for any number of rows. */
export class UsageCounter {
  #iterations = 0;
  #input = 0;
  #output = 0;
  #model: string | undefined;
  #cost: number | undefined;
  readonly #called = new Set<string>();

  /** Adds a row; other rows are ignored. `in` is the part of the run that wrote the row. */
  add(row: JournalRow | { readonly kind?: unknown; readonly in?: unknown }): void {
    if (isOf(row, 'called')) {
      // Calls of several agents in one run may have equal ids.
      this.#called.add(`${(row as { readonly in?: string }).in ?? ''} ${row.id}`);
      return;
    }
    if (!isOf(row, 'answer')) return;
    this.#iterations += 1;
    this.#model = row.model;
    this.#input += row.usage.input ?? 0;
    this.#output += row.usage.output ?? 0;
    if (row.cost !== undefined) this.#cost = (this.#cost ?? 0) + row.cost;
  }

  after(workedMs: number): RunFigures {
    return {
      model: this.#model,
      iterations: this.#iterations,
      tool_calls: this.#called.size,
      input_tokens: this.#input,
      output_tokens: this.#output,
      cost: this.#cost,
      worked_ms: Math.round(workedMs),
    };
  }
}

function isOf<K extends JournalRow['kind']>(
  row: { readonly kind?: unknown },
  kind: K,
): row is Extract<JournalRow, { readonly kind: K }> {
  return row.kind === kind;
}
