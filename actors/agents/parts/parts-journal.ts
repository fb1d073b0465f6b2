// The journal of a run that has parts: its own rows, and those of its parts. All that is written goes through here, in one order, so that
// whatever is durable of one part is not ahead of what it depends on in another.
//
// PJL1  rows are written once, in the order in which they were added, and with them what was asked and is to be sent.
// PJL2  what a part reads back is what it has written, and nothing of the others. Looking for it costs what it has, and not what all have.
// PJL3 (A8)  a row has at most MAX_ROW characters, and nothing more is begun in a journal that might not take what comes of it.
// RTM1  the remaining time never grows: a clock set back between attempts counts as no time, and attempts use the monotonic
//       clock.

import { FiguresSoFar } from '../../../machines/agent-run/figures.ts';
import type { RunFigures } from '../../../machines/agent-run/journal.ts';
import type { Effects } from '../../events/inbox/work.ts';
import { HandlerError } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import { MAX_ROW } from '../model-agent/run-journal.ts';
import { partRow, rowsOfPart } from './part-rows.ts';

interface Kept {
  readonly worked_ms?: unknown;
  readonly passed_ms?: unknown;
  /** Epoch milliseconds. */
  readonly at?: unknown;
}

/** Working time, and time since the first row. Both are stored with the rows and continue after parks and crashes. */
export class RunTime {
  readonly #workedBefore: number;
  readonly #passedBefore: number;
  readonly #startedAt = performance.now();

  /** `state` is the last persisted state; invalid states are ignored. */
  constructor(state: string | undefined) {
    const { worked_ms, passed_ms, at } = keptIn(state);
    this.#workedBefore = positive(worked_ms);
    const since = typeof at === 'number' ? Math.max(0, Date.now() - at) : 0;
    this.#passedBefore = positive(passed_ms) + since;
  }

  /** Working time without waits, in milliseconds. */
  get workedMs(): number {
    return this.#workedBefore + performance.now() - this.#startedAt;
  }

  /** Time since the first persisted row, in milliseconds. */
  get passedMs(): number {
    return this.#passedBefore + performance.now() - this.#startedAt;
  }

  get state(): string {
    const [worked_ms, passed_ms] = [Math.round(this.workedMs), Math.round(this.passedMs)];
    return JSON.stringify({ worked_ms, passed_ms, at: Date.now() });
  }
}

function keptIn(state: string | undefined): Kept {
  try {
    const kept: unknown = JSON.parse(state ?? '{}');
    return typeof kept === 'object' && kept !== null ? kept : {};
  } catch {
    return {};
  }
}

const positive = (value: unknown): number => (typeof value === 'number' && value > 0 ? value : 0);

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
/** What a row of a part has besides what the part has written: its path, and what the part keeps. */
const MAX_AROUND = 20_000;

/** What is sent, asked and set together with rows. */
export type Also = Pick<Effects, 'emit' | 'asks'>;

export class PartsJournal {
  readonly time: RunTime;
  readonly #options: PartsJournalOptions;
  readonly #rows: Row[] = [];
  /** By the path of a part, and of whatever it is within. */
  readonly #byPart = new Map<string, Row[]>();
  readonly #figures = new FiguresSoFar();
  #unwritten: string[] = [];
  #also: { emit: NonNullable<Also['emit']>[number][]; asks: NonNullable<Also['asks']>[number][] } = {
    emit: [],
    asks: [],
  };
  #size = 0;
  #writing: Promise<void> = Promise.resolve();

  private constructor(options: PartsJournalOptions, steps: readonly string[]) {
    this.#options = options;
    for (const text of steps) this.#take(JSON.parse(text) as Row, text);
    this.time = new RunTime(options.context.state);
  }

  /** Rejects as the store does. */
  static async open(options: PartsJournalOptions): Promise<PartsJournal> {
    return new PartsJournal(options, await options.context.steps());
  }

  /** All of them, those of the parts with their paths (`in`). */
  get rows(): readonly Row[] {
    return this.#rows;
  }

  /** Those of that part, and of what is within it. */
  rowsIn(path: string): readonly Row[] {
    return this.#byPart.get(path) ?? [];
  }

  /** In all attempts, waiting for people left out; in milliseconds. */
  get workedMs(): number {
    return this.time.workedMs;
  }

  get state(): string {
    return this.time.state;
  }

  /** Of all parts together. */
  get figures(): RunFigures {
    return this.#figures.after(this.workedMs);
  }

  /** Rows of the run itself. Throws a HandlerError for one that is too long, and takes none of them then. */
  add(...rows: readonly object[]): void {
    const texts = rows.map((row) => this.#textOf(row, MAX_ROW));
    for (const [index, row] of rows.entries()) this.#write(row as Row, texts[index] ?? '');
  }

  /** What a part has written before, with the state that it kept last. */
  partOf(path: string): { readonly texts: readonly string[]; readonly state: string | undefined } {
    const texts: string[] = [];
    let state: string | undefined;
    for (const row of this.rowsIn(path)) {
      const read = partRow(path, row);
      if (read === undefined) continue;
      if (read.text !== '') texts.push(read.text);
      if (read.kept !== undefined) state = read.kept ?? undefined;
    }
    return { texts, state };
  }

  /** Takes what a part writes; it becomes durable with the next `flush`. Throws as `add` does. */
  addOfPart(path: string, state: string | null | undefined, { steps = [], emit, asks }: Effects): void {
    const rows = rowsOfPart(path, steps, state);
    const texts = rows.map((row) => this.#textOf(row, MAX_ROW + MAX_AROUND));
    for (const [index, row] of rows.entries()) this.#write(row, texts[index] ?? '');
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
      `${kind} ${name} has done too much in one run: its journal has ${this.#rows.length} rows of ${this.#size} bytes, and at most ${MAX_ROWS} of ${MAX_SIZE} are kept`,
      { isFinal: true },
    );
  }

  /** Resolves when all that was added is durable. Rejects as a checkpoint does: the attempt is over then, and nothing more is written. */
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

  #write(row: Row, text: string): void {
    this.#take(row, text);
    this.#unwritten.push(text);
  }

  #take(row: Row, text: string): void {
    this.#rows.push(row);
    this.#size += Buffer.byteLength(text);
    this.#figures.add(row);
    const { in: path } = row;
    if (typeof path !== 'string') return;
    for (let at = path.indexOf('/'); ; at = path.indexOf('/', at + 1)) {
      const part = at === -1 ? path : path.slice(0, at);
      const known = this.#byPart.get(part);
      if (known === undefined) this.#byPart.set(part, [row]);
      else known.push(row);
      if (at === -1) return;
    }
  }

  #textOf(row: object, most: number): string {
    const text = JSON.stringify(row);
    if (text.length <= most) return text;
    const { kind, name } = this.#options;
    throw new HandlerError(
      `${kind} ${name}: a step is too large to be kept: it has ${text.length} characters, and may have ${most}`,
      { isFinal: true },
    );
  }
}
