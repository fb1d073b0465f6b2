// Usage per run, from the journal: for lists, and for the comparison with the budget. The answer that exceeds a budget still counts.
//
// BG1  when tokens or cost are used up, the run calls no model and no tool, and it never calls more tools than `tool_calls`.
// BG2  the same applies after an answer without usage figures, because the limit cannot be enforced.

import type { JournalRow, RunFigures } from './journal.ts';

/** Undefined means no limit. */
export interface RunBudget {
  readonly tokens: number | undefined;
  readonly tool_calls: number | undefined;
  readonly cost: number | undefined;
}

/** Describes the exhausted limit, if any; `moreCalls` are pending. */
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

/** Describes the limit that cannot be enforced after these rows, if any. */
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

/** `workedMs` of work, over all attempts. */
export function figuresOf(rows: readonly JournalRow[], workedMs: number): RunFigures {
  const used = new FiguresSoFar();
  for (const row of rows) used.add(row);
  return used.after(workedMs);
}

/** The same, told row by row, so that a step costs the same however many came before. */
export class FiguresSoFar {
  #iterations = 0;
  #input = 0;
  #output = 0;
  #model: string | undefined;
  #cost: number | undefined;
  readonly #called = new Set<string>();

  /** Rows of anything else are passed over; `in` is the part of the run whose row it is. */
  add(row: JournalRow | { readonly kind?: unknown; readonly in?: unknown }): void {
    if (isOf(row, 'called')) {
      // Calls of several agents in one run may have the same ids.
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
