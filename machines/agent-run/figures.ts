// What a run has used so far, from its journal: what lists show of it, and what its budget is held against.

import type { JournalRow, RunFigures } from './journal.ts';

/** `workedMs` of work, over all attempts. */
export function figuresOf(rows: readonly JournalRow[], workedMs: number): RunFigures {
  let iterations = 0;
  let [input, output] = [0, 0];
  let model: string | undefined;
  let cost: number | undefined;
  const called = new Set<string>();
  for (const row of rows) {
    // Calls of several agents in one run may have the same ids.
    if (row.kind === 'called') called.add(`${(row as { readonly in?: string }).in ?? ''} ${row.id}`);
    if (row.kind !== 'answer') continue;
    iterations += 1;
    model = row.model;
    input += row.usage.input ?? 0;
    output += row.usage.output ?? 0;
    if (row.cost !== undefined) cost = (cost ?? 0) + row.cost;
  }
  return {
    model,
    iterations,
    tool_calls: called.size,
    input_tokens: input,
    output_tokens: output,
    cost,
    worked_ms: Math.round(workedMs),
  };
}
