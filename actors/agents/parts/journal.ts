// Journal for runs with parts (flow nodes, fleet members): contains the rows of the run and of the parts.
// Rows are written once, in one order, together with the approvals and messages that belong to them, so
// durable rows never depend on unwritten rows. Parts read only their own rows. Rows are limited to
// MAX_ROW_LENGTH characters, and an almost full journal starts no further part (A8, ARCHITECTURE.md).

import type { RunFigures } from '../../../machines/agent-run/journal.ts';
import { UsageCounter } from '../../../machines/agent-run/usage.ts';
import type { Effects } from '../../events/inbox/work.ts';
import { HandlerError } from '../handlers/handler.ts';
import type { HandlerContext, RunClock } from '../handlers/handler-context.ts';
import { MAX_ROW_LENGTH } from '../model-agent/run-journal.ts';
import type { StoredRow } from '../runs/stored-rows.ts';
import { partRow, rowsOfPart } from './rows.ts';

interface StoredTime {
  readonly worked_ms?: unknown;
  readonly passed_ms?: unknown;
  /** Steady time of the store, in milliseconds. */
  readonly at?: unknown;
}

/**
 * Working time, and time since the first row. Both are stored with the rows and continue after parks and
 * crashes. Between two attempts, the store's steady clock counts.
 */
export class RunTime {
  readonly #workedBefore: number;
  readonly #passedBefore: number;
  readonly #startedAt = performance.now();
  readonly #clock: RunClock;

  /** `state` is the last persisted state; invalid states are ignored. */
  constructor(state: string | undefined, clock: RunClock) {
    const { worked_ms, passed_ms, at } = parseStoredTime(state);
    this.#clock = clock;
    this.#workedBefore = positive(worked_ms);
    const since = typeof at === 'number' ? Math.max(0, clock.steady() - at) : 0;
    this.#passedBefore = positive(passed_ms) + since;
  }

  /** Working time without waiting time, in milliseconds. */
  get workedMs(): number {
    return this.#workedBefore + performance.now() - this.#startedAt;
  }

  /** Time since the first persisted row, in milliseconds. */
  get passedMs(): number {
    return this.#passedBefore + performance.now() - this.#startedAt;
  }

  get state(): string {
    const [worked_ms, passed_ms] = [Math.round(this.workedMs), Math.round(this.passedMs)];
    return JSON.stringify({ worked_ms, passed_ms, at: this.#clock.steady() });
  }
}

function parseStoredTime(state: string | undefined): StoredTime {
  try {
    const parsed: unknown = JSON.parse(state ?? '{}');
    return typeof parsed === 'object' && parsed !== null ? parsed : {};
  } catch {
    return {};
  }
}

const positive = (value: unknown): number => (typeof value === 'number' && value > 0 ? value : 0);

type Context = Pick<HandlerContext, 'state' | 'steps' | 'checkpoint' | 'clock'>;
type JsonObject = Readonly<Record<string, unknown>>;

export interface PartsJournalOptions {
  readonly kind: 'fleet' | 'flow';
  /** Name of the fleet or flow. */
  readonly name: string;
  readonly context: Context;
}

/** Limits of the journal, as a number of rows and in bytes (run-journal.ts). */
const MAX_ROWS = 8_000;
const MAX_SIZE = 32 * 1_048_576;
/** Maximum characters that the path and the stored state add to a part's row. */
const MAX_AROUND = 20_000;

/** Messages and approvals that are committed with rows. */
export type RowEffects = Pick<Effects, 'emit' | 'asks'>;

export class PartsJournal {
  readonly time: RunTime;
  readonly #options: PartsJournalOptions;
  readonly #rows: JsonObject[] = [];
  /** Rows by a part's path, including nested parts. */
  readonly #byPart = new Map<string, JsonObject[]>();
  readonly #figures = new UsageCounter();
  #unwritten: string[] = [];
  #effects: {
    emit: NonNullable<RowEffects['emit']>[number][];
    asks: NonNullable<RowEffects['asks']>[number][];
  } = {
    emit: [],
    asks: [],
  };
  #size = 0;
  #writing: Promise<void> = Promise.resolve();

  private constructor(options: PartsJournalOptions, rows: readonly StoredRow[]) {
    this.#options = options;
    for (const { row, bytes } of rows) this.#index(row, bytes);
    this.time = new RunTime(options.context.state, options.context.clock);
  }

  /** Rejects with the store's error. */
  static async open(options: PartsJournalOptions): Promise<PartsJournal> {
    return new PartsJournal(options, await options.context.steps());
  }

  /** All rows; rows of parts have a path (`in`). */
  get rows(): readonly JsonObject[] {
    return this.#rows;
  }

  /** Returns a part's rows, including nested parts. */
  rowsIn(path: string): readonly JsonObject[] {
    return this.#byPart.get(path) ?? [];
  }

  /** Total working time, in milliseconds. */
  get workedMs(): number {
    return this.time.workedMs;
  }

  get state(): string {
    return this.time.state;
  }

  /** Tokens, cost, calls, iterations and working time of the run, including its parts. */
  get figures(): RunFigures {
    return this.#figures.after(this.workedMs);
  }

  /** Adds rows of the run itself. Throws a HandlerError for long rows, and then adds nothing. */
  add(...rows: readonly object[]): void {
    const texts = rows.map((row) => this.#textOf(row, MAX_ROW_LENGTH));
    for (const [index, row] of rows.entries()) this.#write(row as JsonObject, texts[index] ?? '');
  }

  /** Returns a part's rows as its agent wrote them, and the state that it stored last. */
  partOf(path: string): { readonly texts: readonly string[]; readonly state: string | undefined } {
    const texts: string[] = [];
    let state: string | undefined;
    for (const row of this.rowsIn(path)) {
      const ownRow = partRow(path, row);
      if (ownRow === undefined) continue;
      if (ownRow.text !== '') texts.push(ownRow.text);
      // Null removes the state.
      if (ownRow.storedState !== undefined) state = ownRow.storedState ?? undefined;
    }
    return { texts, state };
  }

  /** Adds a part's rows, which become durable with the next `flush`. Throws like `add`. */
  addOfPart(path: string, state: string | null | undefined, { steps = [], emit, asks }: Effects): void {
    const rows = rowsOfPart(path, steps, state);
    const texts = rows.map((row) => this.#textOf(row, MAX_ROW_LENGTH + MAX_AROUND));
    for (const [index, row] of rows.entries()) this.#write(row, texts[index] ?? '');
    this.addEffects({ emit, asks });
  }

  /** Adds messages and approvals that are committed with the rows added last. */
  addEffects({ emit = [], asks = [] }: RowEffects): void {
    this.#effects.emit.push(...emit);
    this.#effects.asks.push(...asks);
  }

  /** Throws a HandlerError if the journal is almost full. */
  checkCapacity(): void {
    if (this.#rows.length <= MAX_ROWS && this.#size <= MAX_SIZE) return;
    const { kind, name } = this.#options;
    throw new HandlerError(
      `the journal of ${kind} ${name} is full: ${this.#rows.length} rows of ${this.#size} bytes, at most ${MAX_ROWS} rows of ${MAX_SIZE} bytes`,
      { isFinal: true },
    );
  }

  /** Resolves when all rows are durable. Rejects like a checkpoint; the attempt must stop then. */
  flush(): Promise<void> {
    const writing = this.#writing.then(async () => {
      const { emit, asks } = this.#effects;
      if (this.#unwritten.length + emit.length + asks.length === 0) return;
      await this.#options.context.checkpoint(this.state, this.takeUnwritten());
    });
    writing.catch(() => {});
    this.#writing = writing;
    return writing;
  }

  /** Returns and clears the unwritten effects, for the final commit of the attempt. */
  takeUnwritten(): Pick<Effects, 'steps' | 'run' | 'emit' | 'asks'> {
    const steps = this.#unwritten;
    const { emit, asks } = this.#effects;
    this.#unwritten = [];
    this.#effects = { emit: [], asks: [] };
    const { kind, name } = this.#options;
    return { steps, run: { kind, name, figures: JSON.stringify(this.figures) }, emit, asks };
  }

  #write(row: JsonObject, text: string): void {
    this.#index(row, Buffer.byteLength(text));
    this.#unwritten.push(text);
  }

  #index(row: JsonObject, bytes: number): void {
    this.#rows.push(row);
    this.#size += bytes;
    this.#figures.add(row);
    const { in: path } = row;
    if (typeof path !== 'string') return;
    // The row of `a/b` belongs to the parts `a` and `a/b`.
    for (let at = path.indexOf('/'); ; at = path.indexOf('/', at + 1)) {
      const part = at === -1 ? path : path.slice(0, at);
      const partRows = this.#byPart.get(part);
      if (partRows === undefined) this.#byPart.set(part, [row]);
      else partRows.push(row);
      if (at === -1) return;
    }
  }

  #textOf(row: object, limit: number): string {
    const text = JSON.stringify(row);
    if (text.length <= limit) return text;
    const { kind, name } = this.#options;
    throw new HandlerError(
      `${kind} ${name}: a step is too large: ${text.length} characters, at most ${limit}`,
      { isFinal: true },
    );
  }
}
