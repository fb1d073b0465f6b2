// Journal for one attempt of an agent run. The store calls its rows steps. Rows become durable before any
// operation that depends on them. They are written once, in order; a failed write stops all later writes. The
// working time is stored with the rows, so the time after the last row is lost with the attempt. A failed
// attempt stores no state, because a changed checkpoint counts as progress and resets the number of failed
// attempts. A row above MAX_ROW_LENGTH and an almost full journal fail the run permanently, because a later
// attempt would fail in the same way.

import type { JournalRow, RunFigures } from '../../../machines/agent-run/journal.ts';
import { UsageCounter } from '../../../machines/agent-run/usage.ts';
import type { Effects } from '../../events/inbox/work.ts';
import { HandlerError } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';

type Context = Pick<HandlerContext, 'state' | 'steps' | 'checkpoint'>;

/** Maximum length of a row, in UTF-16 units; the store accepts slightly more. */
export const MAX_ROW_LENGTH = 1_000_000;
/**
 * Limits of the journal, as a number of rows and in bytes. Above them no model is called. They are lower than
 * the store's limits, so that the results of the last model answer still fit.
 */
const MAX_ROWS = 8_000;
const MAX_SIZE = 32 * 1_048_576;

export class RunJournal {
  readonly #agent: string;
  readonly #context: Context;
  readonly #rows: JournalRow[];
  readonly #figures = new UsageCounter();
  readonly #workedBefore: number;
  #startedAt = performance.now();
  /** Unwritten rows, as JSON. */
  #unwritten: string[] = [];
  /** Total size, in bytes. */
  #size: number;
  #writing: Promise<void> = Promise.resolve();
  /** Start of the current write, and duration of the earlier ones; in milliseconds. */
  #writingSince: number | undefined;
  #writingMs = 0;

  private constructor(agent: string, context: Context, steps: readonly string[]) {
    this.#agent = agent;
    this.#context = context;
    this.#rows = steps.map((text) => JSON.parse(text) as JournalRow);
    for (const row of this.#rows) this.#figures.add(row);
    this.#size = sizeOf(steps);
    this.#workedBefore = storedWorkedMs(context.state);
  }

  /** Rejects with the store's error. */
  static async open(agent: string, context: Context): Promise<RunJournal> {
    return new RunJournal(agent, context, await context.steps());
  }

  get rows(): readonly JournalRow[] {
    return this.#rows;
  }

  /** Total working time since the first row, without approvals and disk writes, in milliseconds. */
  get workedMs(): number {
    const now = performance.now();
    const waitedMs = this.#writingMs + now - (this.#writingSince ?? now);
    return this.#workedBefore + now - this.#startedAt - waitedMs;
  }

  get figures(): RunFigures {
    return this.#figures.after(this.workedMs);
  }

  get state(): string {
    return JSON.stringify({ worked_ms: Math.round(this.workedMs) });
  }

  /** Throws a HandlerError for long rows, and then adds nothing. */
  add(...rows: readonly JournalRow[]): void {
    const texts = rows.map((row) => this.#textOf(row));
    if (this.#rows.length === 0) this.#startedAt = performance.now();
    this.#rows.push(...rows);
    for (const row of rows) this.#figures.add(row);
    this.#unwritten.push(...texts);
    this.#size += sizeOf(texts);
  }

  /** Throws a HandlerError if the journal is almost full. */
  checkCapacity(): void {
    if (this.#rows.length <= MAX_ROWS && this.#size <= MAX_SIZE) return;
    throw new HandlerError(
      `the journal of agent ${this.#agent} is full: ${this.#rows.length} rows of ${this.#size} bytes, at most ${MAX_ROWS} rows of ${MAX_SIZE} bytes`,
      { isFinal: true },
    );
  }

  /** Resolves when all rows are durable. Rejects like a checkpoint; the attempt must stop then. */
  flush(): Promise<void> {
    const writing = this.#writing.then(() => this.#write());
    writing.catch(() => {});
    this.#writing = writing;
    return writing;
  }

  /** Returns and clears the unwritten rows, for the final commit of the attempt. */
  takeUnwritten(): Pick<Effects, 'steps' | 'run'> {
    const steps = this.#unwritten;
    this.#unwritten = [];
    return { steps, run: { kind: 'agent', name: this.#agent, figures: JSON.stringify(this.figures) } };
  }

  async #write(): Promise<void> {
    if (this.#unwritten.length === 0) return;
    const since = performance.now();
    this.#writingSince = since;
    try {
      await this.#context.checkpoint(this.state, this.takeUnwritten());
    } finally {
      this.#writingSince = undefined;
      this.#writingMs += performance.now() - since;
    }
  }

  #textOf(row: JournalRow): string {
    const text = JSON.stringify(row);
    if (text.length <= MAX_ROW_LENGTH) return text;
    throw new HandlerError(
      `agent ${this.#agent}: ${rowLabel(row)} is too large: ${text.length} characters, at most ${MAX_ROW_LENGTH}`,
      { isFinal: true },
    );
  }
}

const sizeOf = (texts: readonly string[]) => texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);

function rowLabel(row: JournalRow): string {
  if (row.kind === 'begun') return 'the first row of the run (conversation, tools, definition)';
  return row.kind === 'answer' ? `an answer of ${row.model}` : 'a step';
}

/** Returns 0 for invalid states. */
function storedWorkedMs(state: string | undefined): number {
  if (state === undefined) return 0;
  try {
    const { worked_ms } = JSON.parse(state) as { readonly worked_ms?: unknown };
    return typeof worked_ms === 'number' && worked_ms > 0 ? worked_ms : 0;
  } catch {
    return 0;
  }
}
