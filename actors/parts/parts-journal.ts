// The journal of a run that has parts: its own rows, and those of its parts. All that is written goes through here, in one order, so that
// whatever is durable of one part is not ahead of what it depends on in another.
//
// PJL1  rows are written once, in the order in which they were added, and with them what was asked and is to be sent.
// PJL2  what a part reads back is what it has written, and nothing of the others.

import { figuresOf } from '../../machines/agent-run/figures.ts';
import type { JournalRow, RunFigures } from '../../machines/agent-run/journal.ts';
import { HandlerError } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import type { Effects } from '../inbox/work.ts';
import { partRow, rowsOfPart } from './part-rows.ts';

type Context = Pick<HandlerContext, 'state' | 'steps' | 'checkpoint'>;
type Row = Readonly<Record<string, unknown>>;

export interface PartsJournalOptions {
  readonly kind: 'fleet' | 'flow';
  /** Of the fleet, or the flow. */
  readonly name: string;
  readonly context: Context;
}

const MAX_ROWS = 8_000;
const MAX_SIZE = 32 * 1_048_576;

/** What is sent, asked and set together with rows. */
export type Also = Pick<Effects, 'emit' | 'asks'>;

export class PartsJournal {
  readonly #options: PartsJournalOptions;
  readonly #rows: Row[];
  readonly #workedBefore: number;
  readonly #startedAt = performance.now();
  #unwritten: string[] = [];
  #also: { emit: NonNullable<Also['emit']>[number][]; asks: NonNullable<Also['asks']>[number][] } = {
    emit: [],
    asks: [],
  };
  #size = 0;
  #writing: Promise<void> = Promise.resolve();

  private constructor(options: PartsJournalOptions, steps: readonly string[]) {
    this.#options = options;
    this.#rows = steps.map((text) => JSON.parse(text) as Row);
    for (const text of steps) this.#size += text.length;
    this.#workedBefore = workedIn(options.context.state);
  }

  /** Rejects as the store does. */
  static async open(options: PartsJournalOptions): Promise<PartsJournal> {
    return new PartsJournal(options, await options.context.steps());
  }

  /** All of them, those of the parts with their paths (`in`). */
  get rows(): readonly Row[] {
    return this.#rows;
  }

  /** In all attempts, waiting for people left out; in milliseconds. */
  get workedMs(): number {
    return this.#workedBefore + performance.now() - this.#startedAt;
  }

  get state(): string {
    return JSON.stringify({ worked_ms: Math.round(this.workedMs) });
  }

  /** Of all parts together. */
  get figures(): RunFigures {
    return figuresOf(this.#rows as unknown as readonly JournalRow[], this.workedMs);
  }

  /** Rows of the run itself. */
  add(...rows: readonly object[]): void {
    for (const row of rows) {
      const text = JSON.stringify(row);
      this.#rows.push(row as Row);
      this.#unwritten.push(text);
      this.#size += text.length;
    }
  }

  /** What a part has written before, with the state that it kept last. */
  partOf(path: string): { readonly texts: readonly string[]; readonly state: string | undefined } {
    const texts: string[] = [];
    let state: string | undefined;
    for (const row of this.#rows) {
      const read = partRow(path, row);
      if (read === undefined) continue;
      if (read.text !== '') texts.push(read.text);
      if (read.kept !== undefined) state = read.kept ?? undefined;
    }
    return { texts, state };
  }

  /** Takes what a part writes; it becomes durable with the next `flush`. */
  addOfPart(path: string, state: string | null | undefined, { steps = [], emit, asks }: Effects): void {
    for (const text of rowsOfPart(path, steps, state)) {
      this.#rows.push(JSON.parse(text) as Row);
      this.#unwritten.push(text);
      this.#size += text.length;
    }
    this.also({ emit, asks });
  }

  /** What becomes durable together with the rows that were added last. */
  also({ emit = [], asks = [] }: Also): void {
    this.#also.emit.push(...emit);
    this.#also.asks.push(...asks);
  }

  /** Throws a HandlerError where nothing more is to be begun. */
  checkRoom(): void {
    if (this.#rows.length <= MAX_ROWS && this.#size <= MAX_SIZE) return;
    const { kind, name } = this.#options;
    throw new HandlerError(
      `${kind} ${name} has done too much in one run: its journal has ${this.#rows.length} rows, and at most ${MAX_ROWS} of ${MAX_SIZE} bytes are kept`,
      { isFinal: true },
    );
  }

  /** Resolves when all that was added is durable. Rejects as a checkpoint does: the attempt is over then. */
  flush(): Promise<void> {
    const writing = this.#writing.then(async () => {
      const { emit, asks } = this.#also;
      if (this.#unwritten.length + emit.length + asks.length === 0) return;
      await this.#options.context.checkpoint(this.state, this.take());
    });
    writing.catch(() => {});
    this.#writing = writing;
    return writing;
  }

  /** What is not durable yet, for the commit that the attempt ends with. */
  take(): Pick<Effects, 'steps' | 'run' | 'emit' | 'asks'> {
    const steps = this.#unwritten;
    const { emit, asks } = this.#also;
    this.#unwritten = [];
    this.#also = { emit: [], asks: [] };
    const { kind, name } = this.#options;
    return { steps, run: { kind, name, figures: JSON.stringify(this.figures) }, emit, asks };
  }
}

/** 0 where nothing is kept, or something else. */
function workedIn(state: string | undefined): number {
  try {
    const { worked_ms } = JSON.parse(state ?? '{}') as { readonly worked_ms?: unknown };
    return typeof worked_ms === 'number' && worked_ms > 0 ? worked_ms : 0;
  } catch {
    return 0;
  }
}
