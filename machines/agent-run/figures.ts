// What a run has used so far, from its journal: what lists show of it, and what its budget is held against.

import type { JournalRow, RunFigures } from './journal.ts';

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
