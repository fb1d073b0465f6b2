// The journal of a run in the hands of the attempt that works it: rows are added here, and become durable before anything depends
// on them.
//
// JL1  rows are written once, in the order in which they were added; after one that could not be written none is.
// JL2  how long the run has worked is kept with its rows: what an attempt worked after its last row is forgotten with it. Waiting for
//      the disk is no work, however long that is full. A failed attempt keeps nothing by itself: a checkpoint of another state would
//      be progress, and begin the attempts anew. So it is those that bound how long an answer may be asked for in vain.
// JL3 (A8)  a row has at most MAX_ROW characters, and nothing more is begun in a journal that might not take what comes of it. Both end
//      a run for good: a later attempt would come to the same.

import { FiguresSoFar } from '../../../machines/agent-run/figures.ts';
import type { JournalRow, RunFigures } from '../../../machines/agent-run/journal.ts';
import type { Effects } from '../../events/inbox/work.ts';
import { HandlerError } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';

type Context = Pick<HandlerContext, 'state' | 'steps' | 'checkpoint'>;

/** Of a row, in UTF-16 units; the store takes a little more. */
export const MAX_ROW = 1_000_000;
/** Nothing is begun beyond these: the store has room for the results of one more answer, however large they are. */
const MAX_ROWS = 8_000;
const MAX_SIZE = 32 * 1_048_576;

export class RunJournal {
  readonly #agent: string;
  readonly #context: Context;
  readonly #rows: JournalRow[];
  readonly #figures = new FiguresSoFar();
  readonly #workedBefore: number;
  #startedAt = performance.now();
  /** Rows that are not on their way yet. */
  #unwritten: string[] = [];
  /** Of all rows, in bytes. */
  #size: number;
  #writing: Promise<void> = Promise.resolve();
  /** When the write under way was begun, and what those before it have taken; in milliseconds. */
  #writingSince: number | undefined;
  #writingMs = 0;

  private constructor(agent: string, context: Context, steps: readonly string[]) {
    this.#agent = agent;
    this.#context = context;
    this.#rows = steps.map((text) => JSON.parse(text) as JournalRow);
    for (const row of this.#rows) this.#figures.add(row);
    this.#size = sizeOf(steps);
    this.#workedBefore = workedIn(context.state);
  }

  /** Rejects as the store does. */
  static async open(agent: string, context: Context): Promise<RunJournal> {
    return new RunJournal(agent, context, await context.steps());
  }

  get rows(): readonly JournalRow[] {
    return this.#rows;
  }

  /** In all attempts, from the first row on, waiting for people and for the disk left out; in milliseconds. */
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

  /** Throws a HandlerError for a row that is too long, and takes none of them then. */
  add(...rows: readonly JournalRow[]): void {
    const texts = rows.map((row) => this.#textOf(row));
    if (this.#rows.length === 0) this.#startedAt = performance.now();
    this.#rows.push(...rows);
    for (const row of rows) this.#figures.add(row);
    this.#unwritten.push(...texts);
    this.#size += sizeOf(texts);
  }

  /** Throws a HandlerError where nothing more is to be begun. */
  checkRoom(): void {
    if (this.#rows.length <= MAX_ROWS && this.#size <= MAX_SIZE) return;
    throw new HandlerError(
      `agent ${this.#agent} has done too much in one run: its journal has ${this.#rows.length} rows of ${this.#size} bytes, and at most ${MAX_ROWS} of ${MAX_SIZE} are kept`,
      { isFinal: true },
    );
  }

  /** Resolves when all rows are durable. Rejects as a checkpoint does: the attempt is over then, and nothing more is written. */
  flush(): Promise<void> {
    const writing = this.#writing.then(() => this.#write());
    writing.catch(() => {});
    this.#writing = writing;
    return writing;
  }

  /** What is not durable yet, for the commit that the attempt ends with. */
  take(): Pick<Effects, 'steps' | 'run'> {
    const steps = this.#unwritten;
    this.#unwritten = [];
    return { steps, run: { kind: 'agent', name: this.#agent, figures: JSON.stringify(this.figures) } };
  }

  async #write(): Promise<void> {
    if (this.#unwritten.length === 0) return;
    const since = performance.now();
    this.#writingSince = since;
    try {
      await this.#context.checkpoint(this.state, this.take());
    } finally {
      this.#writingSince = undefined;
      this.#writingMs += performance.now() - since;
    }
  }

  #textOf(row: JournalRow): string {
    const text = JSON.stringify(row);
    if (text.length <= MAX_ROW) return text;
    throw new HandlerError(
      `agent ${this.#agent}: ${whatIs(row)} is too large to be kept: it has ${text.length} characters, and may have ${MAX_ROW}`,
      { isFinal: true },
    );
  }
}

const sizeOf = (texts: readonly string[]) => texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);

function whatIs(row: JournalRow): string {
  if (row.kind === 'begun') return 'what a run begins with (what was said, tools, the agent itself)';
  return row.kind === 'answer' ? `an answer of ${row.model}` : 'a step';
}

/** 0 where nothing is kept, or something else. */
function workedIn(state: string | undefined): number {
  if (state === undefined) return 0;
  try {
    const { worked_ms } = JSON.parse(state) as { readonly worked_ms?: unknown };
    return typeof worked_ms === 'number' && worked_ms > 0 ? worked_ms : 0;
  } catch {
    return 0;
  }
}
