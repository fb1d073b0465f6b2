// Loads the visible sessions and some around them, when the visible range changes and once per second.
//
// - One request at a time, with pauses of GAP_MS, even during fast scrolling.
// - Only the last response is stored, so the memory is bounded.
// - Rows of a response for a previous filter are not shown.

import type { SessionList, SessionRow } from '../../wire/feed.ts';

/** Maximum number of sessions per response, as in the gateway. */
const MAX_COUNT = 200;
/** Number of sessions loaded before and after the visible range. */
const MARGIN = 40;
const REFRESH_MS = 1_000;
const RETRY_MS = 2_000;
const GAP_MS = 50;

export interface SessionRange {
  readonly first: number;
  /** Exclusive. */
  readonly last: number;
}

export type LoadSessions = (from: number, count: number, filter: string) => Promise<SessionList>;

export class SessionWindow {
  readonly #load: LoadSessions;
  readonly #onChange: () => void;
  #filter = '';
  #range: SessionRange | undefined;
  #list: SessionList | undefined;
  /** Filter of `#list`. */
  #listFilter = '';
  #isLoading = false;
  #requestedAt = Number.NEGATIVE_INFINITY;
  #hasFailed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(load: LoadSessions, onChange: () => void) {
    this.#load = load;
    this.#onChange = onChange;
  }

  /** Time of the displayed rows, by the gateway's clock. */
  get at(): number {
    return this.#list?.at ?? 0;
  }

  /** Total number of sessions in the last response. */
  get total(): number {
    return this.#list?.total ?? 0;
  }

  /** Number of sessions that match the filter of the last response. */
  get matching(): number {
    return this.#list?.matching ?? 0;
  }

  /** Returns the session at an index; undefined if not loaded. */
  row(index: number): SessionRow | undefined {
    return this.#listFilter === this.#filter
      ? this.#list?.sessions[index - (this.#list?.from ?? 0)]
      : undefined;
  }

  /** Returns a session's index; undefined if not loaded. */
  indexOf(number: number): number | undefined {
    if (this.#list === undefined || this.#listFilter !== this.#filter) return undefined;
    const index = this.#list.sessions.findIndex((session) => session.number === number);
    return index < 0 ? undefined : this.#list.from + index;
  }

  /** Sets the visible range; if undefined, requests stop and the rows are discarded. */
  setRange(filter: string, range: SessionRange | undefined): void {
    this.#filter = filter;
    this.#range = range && { first: range.first, last: Math.min(range.last, range.first + MAX_COUNT) };
    if (range === undefined) this.#list = undefined;
    this.#next();
  }

  #next(): void {
    clearTimeout(this.#timer);
    if (this.#range === undefined || this.#isLoading) return;
    const pauseMs = this.#hasFailed ? RETRY_MS : this.#has(this.#range) ? REFRESH_MS : GAP_MS;
    const dueInMs = this.#requestedAt + pauseMs - performance.now();
    if (dueInMs <= 0) void this.#refresh(this.#range);
    else this.#timer = setTimeout(() => this.#next(), Math.ceil(dueInMs));
  }

  #has({ first, last }: SessionRange): boolean {
    const list = this.#list;
    if (list === undefined || this.#listFilter !== this.#filter) return false;
    return list.from <= first && Math.min(last, list.matching) <= list.from + list.sessions.length;
  }

  async #refresh({ first, last }: SessionRange): Promise<void> {
    const filter = this.#filter;
    const margin = Math.min(MARGIN, Math.floor((MAX_COUNT - (last - first)) / 2));
    const from = Math.max(0, first - margin);
    this.#isLoading = true;
    this.#requestedAt = performance.now();
    try {
      const list = await this.#load(from, last + margin - from, filter);
      this.#hasFailed = false;
      if (this.#range !== undefined) {
        this.#list = list;
        this.#listFilter = filter;
      }
    } catch {
      // Keeps the rows; a banner reports the lost connection.
      this.#hasFailed = true;
    }
    this.#isLoading = false;
    this.#onChange();
    this.#next();
  }
}
