// The journal of a run in the hands of the attempt that works it: rows are added here, and become durable before anything depends
// on them.
//
// JL1  rows are written once, in the order in which they were added.
// JL2  how long the run has worked is kept with its rows: what an attempt worked after its last row is forgotten with it.

import { figuresOf } from '../../machines/agent-run/figures.ts';
import type { JournalRow, RunFigures } from '../../machines/agent-run/journal.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import type { Effects } from '../inbox/work.ts';

type Context = Pick<HandlerContext, 'state' | 'steps' | 'checkpoint'>;

export class RunJournal {
  readonly #agent: string;
  readonly #context: Context;
  readonly #rows: JournalRow[];
  readonly #workedBefore: number;
  readonly #startedAt = performance.now();
  /** How many of the rows are on their way, or durable. */
  #written: number;
  #writing: Promise<void> = Promise.resolve();

  private constructor(agent: string, context: Context, rows: JournalRow[]) {
    this.#agent = agent;
    this.#context = context;
    this.#rows = rows;
    this.#written = rows.length;
    this.#workedBefore = workedIn(context.state);
  }

  /** Rejects as the store does. */
  static async open(agent: string, context: Context): Promise<RunJournal> {
    const steps = await context.steps();
    const rows = steps.map((text) => JSON.parse(text) as JournalRow);
    return new RunJournal(agent, context, rows);
  }

  get rows(): readonly JournalRow[] {
    return this.#rows;
  }

  /** In all attempts, waiting for people left out; in milliseconds. */
  get workedMs(): number {
    return this.#workedBefore + performance.now() - this.#startedAt;
  }

  get figures(): RunFigures {
    return figuresOf(this.#rows, this.workedMs);
  }

  get state(): string {
    return JSON.stringify({ worked_ms: Math.round(this.workedMs) });
  }

  add(...rows: readonly JournalRow[]): void {
    this.#rows.push(...rows);
  }

  /** Resolves when all rows are durable. Rejects as a checkpoint does: the attempt is over then. */
  flush(): Promise<void> {
    const writing = this.#writing.then(async () => {
      if (this.#written < this.#rows.length) await this.#context.checkpoint(this.state, this.take());
    });
    // Whoever comes after it finds out for himself.
    this.#writing = writing.catch(() => {});
    return writing;
  }

  /** What is not durable yet, for the commit that the attempt ends with. */
  take(): Pick<Effects, 'steps' | 'run'> {
    const steps = this.#rows.slice(this.#written).map((row) => JSON.stringify(row));
    this.#written = this.#rows.length;
    return { steps, run: { kind: 'agent', name: this.#agent, figures: JSON.stringify(this.figures) } };
  }
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
