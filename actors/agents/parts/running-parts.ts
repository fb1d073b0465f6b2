// Running parts in a fleet or flow run: flow nodes or fleet members. The run starts planned parts and
// receives their results. This class resumes parked parts (parked.ts), drops parts, and detects when the
// whole run must park. A started part settles once: with an answer, an error or by parking; a dropped part
// does not settle. A part is not restarted before its result was delivered. The run parks only when no part
// works, and resumes with the first wake-up. Parts that need approvals are checked whenever the run resumes,
// and periodically while parts work. Timers survive restarts and steps of the store's clock.

import type { RunClock } from '../handlers/handler-context.ts';
import { isParked, type Parked } from '../handlers/parked.ts';
import type { PartsJournal } from './journal.ts';

export type PartResult<R> =
  | { readonly path: string; readonly how: 'answered'; readonly reply: R }
  | { readonly path: string; readonly how: 'failed'; readonly error: unknown };

/** One attempt at a part. `hasWaited` is true if the part resumes after waiting. */
export type PartWork<R> = (signal: AbortSignal, hasWaited: boolean) => Promise<R | Parked>;

/** The current attempt of a working part. */
interface Running<R> {
  readonly work: PartWork<R>;
  readonly stop: AbortController;
}

/** Parked part. */
interface Waiting<R> {
  readonly work: PartWork<R>;
  /** In performance.now() milliseconds; undefined: no time limit. */
  readonly dueAt: number | undefined;
  /** Next check of the approval while other parts work; undefined if the part needs no approval. */
  readonly checkAt: number | undefined;
}

/** Journal row: the part is waiting. */
export interface ParkedRow {
  readonly kind: 'parked';
  readonly in: string;
  /** True if the part waits for an approval, false if it waits only for a time. */
  readonly isForPeople: boolean;
  /** True if the part waits for a slot. */
  readonly isForSlot?: boolean | undefined;
  /** End of the wait by the store's steady time, and its duration in ms. */
  readonly until?: number | undefined;
  readonly ms?: number | undefined;
}

export interface RunningPartsOptions {
  readonly journal: PartsJournal;
  /** Signal of the attempt. */
  readonly signal: AbortSignal;
  /** Name that a part parks on while it waits for an approval. */
  readonly wakeName: string;
  readonly clock: RunClock;
}

/** Interval of checks while other parts work. */
const CHECK_INTERVAL_MS = 1_000;
/** Minimum wake-up delay: prevents repeated wake-ups shortly before timers fire. */
const SHORTEST_WAIT_MS = 250;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** `R` is the answer type of the parts. */
export class RunningParts<R extends object> {
  readonly #options: RunningPartsOptions;
  readonly #running = new Map<string, Running<R>>();
  readonly #waiting = new Map<string, Waiting<R>>();
  /** Results that have not been delivered. */
  #results: PartResult<R>[] = [];
  #notify: () => void = () => {};

  constructor(options: RunningPartsOptions) {
    this.#options = options;
  }

  get #journal(): PartsJournal {
    return this.#options.journal;
  }

  get #signal(): AbortSignal {
    return this.#options.signal;
  }

  /** Returns true for a running or waiting part, and for a part with an undelivered result. */
  has(path: string): boolean {
    const isSettled = this.#results.some((each) => each.path === path);
    return isSettled || this.#running.has(path) || this.#waiting.has(path);
  }

  get paths(): readonly string[] {
    return [...this.#running.keys(), ...this.#waiting.keys(), ...this.#results.map(({ path }) => path)];
  }

  /**
   * Starts a part. If an earlier attempt of the run has parked it, a timed wait continues; a part that needs
   * an approval works immediately and checks for the decision.
   */
  begin(path: string, work: PartWork<R>): void {
    const parked = this.#parkedRow(path);
    if (parked === undefined || parked.isForPeople) {
      this.#work(path, work, parked !== undefined);
      return;
    }
    const { until = 0, ms = 0 } = parked;
    const remaining = Math.min(ms, Math.max(0, until - this.#options.clock.steady()));
    this.#waiting.set(path, { work, dueAt: performance.now() + remaining, checkAt: undefined });
  }

  #work(path: string, work: PartWork<R>, hasWaited: boolean): void {
    const stop = new AbortController();
    const attempt = { work, stop };
    this.#running.set(path, attempt);
    const settle = (result: PartResult<R> | Parked) => {
      // If the part was dropped or restarted meanwhile, the result is ignored.
      if (this.#running.get(path) !== attempt) return;
      this.#running.delete(path);
      if ('parkedOn' in result) this.#park(path, work, result);
      else this.#results.push(result);
      this.#notify();
    };
    work(AbortSignal.any([this.#signal, stop.signal]), hasWaited).then(
      (reply) => settle(isParked(reply) ? reply : { path, how: 'answered', reply }),
      (error: unknown) => settle({ path, how: 'failed', error }),
    );
  }

  /** Stops a part and the parts inside it, and ignores their results. */
  drop(path: string, why: Error): void {
    const isIn = (each: string) => each === path || each.startsWith(`${path}/`);
    this.#results = this.#results.filter((each) => !isIn(each.path));
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
   * Returns the next result; undefined if all parts wait. Rejects with the abort reason of the attempt, or
   * with the store's error if parking fails.
   */
  async next(): Promise<PartResult<R> | undefined> {
    for (;;) {
      this.#signal.throwIfAborted();
      const result = this.#results.shift();
      if (result !== undefined) return result;
      if (this.#running.size === 0) {
        await this.#journal.flush();
        if (!this.#resumeDue()) return undefined;
      }
      await this.#waitForChange();
      if (this.#running.size > 0) this.#resumeDue(true);
    }
  }

  /** True if a parked part waits for an approval. */
  get waitsForPeople(): boolean {
    return [...this.#waiting.values()].some(({ checkAt }) => checkAt !== undefined);
  }

  /** Milliseconds before the first timer; undefined if no timer is pending. */
  get firstDueMs(): number | undefined {
    const dues = [...this.#waiting.values()].flatMap(({ dueAt }) => dueAt ?? []);
    return dues.length === 0 ? undefined : Math.max(SHORTEST_WAIT_MS, Math.min(...dues) - performance.now());
  }

  #park(
    path: string,
    work: PartWork<R>,
    { parkedOn, wakeInMs: ms, isForSlot, state, effects }: Parked,
  ): void {
    const isForPeople = parkedOn === this.#options.wakeName;
    const before = this.#parkedRow(path);
    const { steps = [], emit = [], asks = [] } = effects ?? {};
    // A part that needs an approval is checked repeatedly, but its row is written once.
    const isUnchanged =
      before?.isForPeople === true && isForPeople && steps.length + emit.length + asks.length === 0;
    if (!isUnchanged) {
      this.#journal.addOfPart(path, state, effects ?? {});
      const until = ms === undefined ? undefined : this.#options.clock.steady() + ms;
      this.#journal.add({ kind: 'parked', in: path, isForPeople, isForSlot, until, ms } satisfies ParkedRow);
    }
    const now = performance.now();
    const dueAt = ms === undefined ? undefined : now + ms;
    this.#waiting.set(path, { work, dueAt, checkAt: isForPeople ? now + CHECK_INTERVAL_MS : undefined });
  }

  #parkedRow(path: string): ParkedRow | undefined {
    return this.#journal.rowsIn(path).findLast((row) => isParkedRow(row, path)) as ParkedRow | undefined;
  }

  /** Returns true if the part has waited for more than a slot. */
  #hasWaited(path: string): boolean {
    return this.#journal.rowsIn(path).some((row) => isParkedRow(row, path) && row.isForSlot !== true);
  }

  /**
   * Resumes parts with a finished wait; with `isCheckingPeople` also parts with a due approval check. Returns
   * true if a part was resumed.
   */
  #resumeDue(isCheckingPeople = false): boolean {
    const now = performance.now();
    const isOver = (at: number | undefined) => at !== undefined && at <= now;
    const due = [...this.#waiting].filter(
      ([, { dueAt, checkAt }]) => isOver(dueAt) || (isCheckingPeople && isOver(checkAt)),
    );
    this.#resume(due.map(([path]) => path));
    return due.length > 0;
  }

  #resume(paths: readonly string[]): void {
    for (const path of paths) {
      const waiting = this.#waiting.get(path);
      if (waiting === undefined) continue;
      this.#waiting.delete(path);
      this.#work(path, waiting.work, this.#hasWaited(path));
    }
  }

  /** Returns the delay before the next timer or check; undefined if no part has any. */
  #nextCheckMs(): number | undefined {
    const now = performance.now();
    const times = [...this.#waiting.values()].flatMap(({ dueAt, checkAt }) =>
      [dueAt ?? [], checkAt ?? []].flat(),
    );
    return times.length === 0
      ? undefined
      : Math.min(LONGEST_TIMER_MS, Math.max(0, Math.ceil(Math.min(...times) - now)));
  }

  /** Resolves when a part has settled, at the next check, and when the attempt stops. */
  #waitForChange(): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#signal.removeEventListener('abort', end);
        this.#notify = () => {};
        resolve();
      };
      const ms = this.#nextCheckMs();
      const timer = ms === undefined ? undefined : setTimeout(end, ms);
      this.#signal.addEventListener('abort', end, { once: true });
      this.#notify = end;
      if (this.#results.length > 0 || this.#signal.aborted) end();
    });
  }
}

function isParkedRow(row: Readonly<Record<string, unknown>>, path: string): boolean {
  return row.kind === 'parked' && row.in === path;
}
