// Journal for one attempt of an agent run. The store calls its rows steps. Rows become durable before any
// operation that depends on them. They are written once, in order; a failed write stops all later writes. The
// working time is stored with the rows. A failed attempt stores no state, because a changed checkpoint counts
// as progress and resets the number of failed attempts; its time after the last row is in memory only
// (model-agent.ts). A row above MAX_ROW_LENGTH and an almost full journal fail the run permanently, because a
// later attempt would fail in the same way.

import type { JournalRow, RunFigures } from '../../../machines/agent-run/journal.ts';
import { UsageCounter } from '../../../machines/agent-run/usage.ts';
import type { Effects } from '../../events/inbox/work.ts';
import { HandlerError } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import type { StoredRow } from '../runs/stored-rows.ts';

type Context = Pick<HandlerContext, 'state' | 'steps' | 'checkpoint'>;

/** Maximum row length, in UTF-16 units; the store accepts slightly more. */
export const MAX_ROW_LENGTH = 1_000_000;
/**
 * Limits of the journal, as a number of rows and in bytes. Above them no model is called. They are lower than
 * the store's limits, so that the results of the last model answer still fit.
 */
const MAX_ROWS = 8_000;
const MAX_SIZE = 32 * 1_048_576;
/** Size up to which a journal accepts images, in bytes: the remaining steps are more important. */
const MAX_SIZE_FOR_IMAGES = 8 * 1_048_576;

type ResultRow = Extract<JournalRow, { readonly kind: 'result' }>;

export class RunJournal {
  readonly #agent: string;
  readonly #context: Context;
  readonly #rows: JournalRow[];
  readonly #figures = new UsageCounter();
  readonly #workedBefore: number;
  /** Working time in the stored state. */
  #storedMs: number;
  #startedAt = performance.now();
  /** Unwritten rows, as JSON. */
  #unwritten: string[] = [];
  /** Total size, in bytes. */
  #size: number;
  #writing: Promise<void> = Promise.resolve();
  /** Start of the current untimed operation, and duration of the earlier ones; in milliseconds. */
  #untimedSince: number | undefined;
  #untimedMs = 0;

  private constructor(agent: string, context: Context, rows: readonly StoredRow[], unstoredMs: number) {
    this.#agent = agent;
    this.#context = context;
    this.#rows = rows.map(({ row }) => row as unknown as JournalRow);
    for (const row of this.#rows) this.#figures.add(row);
    this.#size = rows.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#storedMs = storedWorkedMs(context.state);
    this.#workedBefore = this.#storedMs + unstoredMs;
  }

  /**
   * `unstoredMs` is the working time of failed attempts that the state does not contain. Rejects with the
   * store's error.
   */
  static async open(agent: string, context: Context, unstoredMs = 0): Promise<RunJournal> {
    return new RunJournal(agent, context, await context.steps(), unstoredMs);
  }

  get rows(): readonly JournalRow[] {
    return this.#rows;
  }

  /** Total working time since the first row, without approvals and untimed operations, in milliseconds. */
  get workedMs(): number {
    const now = performance.now();
    const waitedMs = this.#untimedMs + now - (this.#untimedSince ?? now);
    return this.#workedBefore + now - this.#startedAt - waitedMs;
  }

  /** Working time that the stored state does not contain. */
  get unstoredMs(): number {
    return this.#rows.length === 0 ? 0 : Math.max(0, this.workedMs - this.#storedMs);
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

  /** Runs an operation that is not working time, such as a disk write. One at a time. */
  async untimed<T>(operation: () => Promise<T>): Promise<T> {
    const since = performance.now();
    this.#untimedSince = since;
    try {
      return await operation();
    } finally {
      this.#untimedSince = undefined;
      this.#untimedMs += performance.now() - since;
    }
  }

  /** Omits images that would fill the row or the journal; the text describes them. */
  withoutLargeImages(row: ResultRow): ResultRow {
    const { images, ...others } = row;
    if (images === undefined) return row;
    const isTooLarge = this.#size > MAX_SIZE_FOR_IMAGES || JSON.stringify(row).length > MAX_ROW_LENGTH;
    return isTooLarge ? others : row;
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
    await this.untimed(async () => {
      const { state, workedMs } = this;
      await this.#context.checkpoint(state, this.takeUnwritten());
      this.#storedMs = workedMs;
    });
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
