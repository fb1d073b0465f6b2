// The parts of a run that are under way at a time. Whoever has them (a fleet, a flow) begins them by its plan and hears of each how it went;
// here is what all of them have in common: how they wait, how they are dropped, and when the run as a whole has nothing to do but wait.
//
// RPT1  a part settles once for each time it was begun: by its answer, by an error, by waiting; or it is dropped, and nothing of it counts.
//       One that has settled is not begun again before that was told.
// RPT2  the run waits as a whole only when none of its parts is at work; then as long as the first of them.
// RPT3  a part that waits for people is looked at again whenever the run goes on, and in between while others work; any part when its time
//       is over, which is kept over restarts and does not grow with a clock that is wrong.

import { isParked, type Parked } from '../handlers/parked.ts';
import type { PartsJournal } from './parts-journal.ts';

export type Settled<R> =
  | { readonly path: string; readonly how: 'answered'; readonly reply: R }
  | { readonly path: string; readonly how: 'failed'; readonly error: unknown };

/** One attempt at a part; `hasWaited`: it waited before, and goes on. */
export type PartWork<R> = (signal: AbortSignal, hasWaited: boolean) => Promise<R | Parked>;

interface Running<R> {
  readonly work: PartWork<R>;
  readonly stop: AbortController;
}

interface Waiting<R> {
  readonly work: PartWork<R>;
  /** In performance.now() milliseconds; undefined: no time. */
  readonly dueAt: number | undefined;
  /** When it is looked at, while others work, of one that waits for people. */
  readonly lookAt: number | undefined;
}

/** In the journal: the part waits. */
export interface ParkedRow {
  readonly kind: 'parked';
  readonly in: string;
  readonly isForPeople: boolean;
  /** Epoch ms, and how long that was in milliseconds. */
  readonly until?: number | undefined;
  readonly ms?: number | undefined;
}

export interface RunningPartsOptions {
  readonly journal: PartsJournal;
  /** Of the attempt. */
  readonly signal: AbortSignal;
  /** Under which whoever waits for people is parked. */
  readonly wakeName: string;
}

/** While others work. */
const LOOK_MS = 1_000;
const SHORTEST_WAIT_MS = 250;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** `R` is what a part answers. */
export class RunningParts<R extends object> {
  readonly #options: RunningPartsOptions;
  readonly #running = new Map<string, Running<R>>();
  readonly #waiting = new Map<string, Waiting<R>>();
  /** Not told yet. */
  #settled: Settled<R>[] = [];
  #tell: () => void = () => {};

  constructor(options: RunningPartsOptions) {
    this.#options = options;
  }

  get #journal(): PartsJournal {
    return this.#options.journal;
  }

  get #signal(): AbortSignal {
    return this.#options.signal;
  }

  /** What has settled and was not told yet is among them: it is not to be begun again. */
  has(path: string): boolean {
    const isSettled = this.#settled.some((each) => each.path === path);
    return isSettled || this.#running.has(path) || this.#waiting.has(path);
  }

  get paths(): readonly string[] {
    return [...this.#running.keys(), ...this.#waiting.keys(), ...this.#settled.map(({ path }) => path)];
  }

  /** Begins a part, or has one go on that was begun before: one that waits for its time waits on. */
  begin(path: string, work: PartWork<R>): void {
    const parked = this.#parkedRow(path);
    if (parked === undefined || parked.isForPeople) {
      this.#work(path, work, parked !== undefined);
      return;
    }
    const { until = 0, ms = 0 } = parked;
    const left = Math.min(ms, Math.max(0, until - Date.now()));
    this.#waiting.set(path, { work, dueAt: performance.now() + left, lookAt: undefined });
  }

  #work(path: string, work: PartWork<R>, hasWaited: boolean): void {
    const stop = new AbortController();
    const running = { work, stop };
    this.#running.set(path, running);
    const settle = (settled: Settled<R> | Parked) => {
      // It was dropped, or begun anew.
      if (this.#running.get(path) !== running) return;
      this.#running.delete(path);
      if ('parkedOn' in settled) this.#wait(path, work, settled);
      else this.#settled.push(settled);
      this.#tell();
    };
    work(AbortSignal.any([this.#signal, stop.signal]), hasWaited).then(
      (reply) => settle(isParked(reply) ? reply : { path, how: 'answered', reply }),
      (error: unknown) => settle({ path, how: 'failed', error }),
    );
  }

  /** It is told to end, and nothing of it counts any more; neither does what is within it. */
  drop(path: string, why: Error): void {
    const isIn = (each: string) => each === path || each.startsWith(`${path}/`);
    this.#settled = this.#settled.filter((each) => !isIn(each.path));
    for (const map of [this.#running, this.#waiting])
      for (const [each] of map)
        if (isIn(each)) {
          this.#running.get(each)?.stop.abort(why);
          map.delete(each);
        }
  }

  dropAll(why: Error): void {
    for (const path of this.paths) this.drop(path, why);
  }

  /**
   * The next that settles; undefined when none is at work, and all that are there wait. Rejects with the reason of the attempt's
   * signal, and as the store does where what a part waits for cannot be made durable.
   */
  async next(): Promise<Settled<R> | undefined> {
    for (;;) {
      this.#signal.throwIfAborted();
      const settled = this.#settled.shift();
      if (settled !== undefined) return settled;
      if (this.#running.size === 0) {
        await this.#journal.flush();
        if (!this.#resumeDue()) return undefined;
      }
      await this.#change();
      if (this.#running.size > 0) this.#resumeDue(true);
    }
  }

  /** Some of those that wait do so for people. */
  get waitsForPeople(): boolean {
    return [...this.#waiting.values()].some(({ lookAt }) => lookAt !== undefined);
  }

  /** In milliseconds from now; undefined: nothing that is known ends the wait. */
  get firstDueMs(): number | undefined {
    const dues = [...this.#waiting.values()].flatMap(({ dueAt }) => dueAt ?? []);
    return dues.length === 0 ? undefined : Math.max(SHORTEST_WAIT_MS, Math.min(...dues) - performance.now());
  }

  #wait(path: string, work: PartWork<R>, { parkedOn, wakeInMs: ms, state, effects }: Parked): void {
    const isForPeople = parkedOn === this.#options.wakeName;
    const before = this.#parkedRow(path);
    const { steps = [], emit = [], asks = [] } = effects ?? {};
    // It is looked at again and again, and stands in the journal once.
    const isAsBefore =
      before?.isForPeople === true && isForPeople && steps.length + emit.length + asks.length === 0;
    if (!isAsBefore) {
      this.#journal.addOfPart(path, state, effects ?? {});
      const until = ms === undefined ? undefined : Date.now() + ms;
      this.#journal.add({ kind: 'parked', in: path, isForPeople, until, ms } satisfies ParkedRow);
    }
    const now = performance.now();
    const dueAt = ms === undefined ? undefined : now + ms;
    this.#waiting.set(path, { work, dueAt, lookAt: isForPeople ? now + LOOK_MS : undefined });
  }

  #parkedRow(path: string): ParkedRow | undefined {
    const isOf = (row: Readonly<Record<string, unknown>>) => row.kind === 'parked' && row.in === path;
    return this.#journal.rowsIn(path).findLast(isOf) as ParkedRow | undefined;
  }

  /** Those whose time is over, and with `isLooking` those that may have been decided about meanwhile. */
  #resumeDue(isLooking = false): boolean {
    const now = performance.now();
    const isOver = (at: number | undefined) => at !== undefined && at <= now;
    const due = [...this.#waiting].filter(
      ([, { dueAt, lookAt }]) => isOver(dueAt) || (isLooking && isOver(lookAt)),
    );
    this.#resume(due.map(([path]) => path));
    return due.length > 0;
  }

  #resume(paths: readonly string[]): void {
    for (const path of paths) {
      const waiting = this.#waiting.get(path);
      if (waiting === undefined) continue;
      this.#waiting.delete(path);
      this.#work(path, waiting.work, true);
    }
  }

  /** Undefined where none of those that wait is to be looked at. */
  #lookInMs(): number | undefined {
    const now = performance.now();
    const times = [...this.#waiting.values()].flatMap(({ dueAt, lookAt }) =>
      [dueAt ?? [], lookAt ?? []].flat(),
    );
    return times.length === 0
      ? undefined
      : Math.min(LONGEST_TIMER_MS, Math.max(0, Math.ceil(Math.min(...times) - now)));
  }

  /** Resolves when something has settled, when it is time to look again, and when the attempt is over. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#signal.removeEventListener('abort', end);
        this.#tell = () => {};
        resolve();
      };
      const ms = this.#lookInMs();
      const timer = ms === undefined ? undefined : setTimeout(end, ms);
      this.#signal.addEventListener('abort', end, { once: true });
      this.#tell = end;
      if (this.#settled.length > 0 || this.#signal.aborted) end();
    });
  }
}
