// The sessions in sight, and a few around them: asked for when others come into sight, and again once a second.
//
// WI1  one question at a time, and at most one in GAP_MS, however fast somebody scrolls.
// WI2  what is kept is one answer: its size is bounded, however many sessions there are.
// WI3  an answer to another filter than the one that is wanted shows no rows.

import type { SessionList, SessionRow } from '../../wire/feed-wire.ts';

/** As many as the gateway gives at once. */
const MAX_COUNT = 200;
const MARGIN = 40;
const REFRESH_MS = 1_000;
const RETRY_MS = 2_000;
const GAP_MS = 50;

export interface SessionRange {
  readonly first: number;
  /** Not in it any more. */
  readonly last: number;
}

export type AskSessions = (from: number, count: number, filter: string) => Promise<SessionList>;

export class SessionWindow {
  readonly #ask: AskSessions;
  readonly #onChange: () => void;
  #filter = '';
  #range: SessionRange | undefined;
  #list: SessionList | undefined;
  /** The filter that `#list` has passed. */
  #listFilter = '';
  #isAsking = false;
  #askedAt = Number.NEGATIVE_INFINITY;
  #hasFailed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ask: AskSessions, onChange: () => void) {
    this.#ask = ask;
    this.#onChange = onChange;
  }

  /** When the rows were as they are shown, by the gateway's clock. */
  get at(): number {
    return this.#list?.at ?? 0;
  }

  /** How many there are in all, as far as has been told. */
  get total(): number {
    return this.#list?.total ?? 0;
  }

  /** How many pass the filter; while that is being found out, how many have passed the one before. */
  get matching(): number {
    return this.#list?.matching ?? 0;
  }

  /** Undefined for one that is not there yet. */
  row(index: number): SessionRow | undefined {
    return this.#listFilter === this.#filter
      ? this.#list?.sessions[index - (this.#list?.from ?? 0)]
      : undefined;
  }

  /** Where a session stands, if it is among those that are here. */
  indexOf(number: number): number | undefined {
    if (this.#list === undefined || this.#listFilter !== this.#filter) return undefined;
    const at = this.#list.sessions.findIndex((session) => session.number === number);
    return at < 0 ? undefined : this.#list.from + at;
  }

  /** Which ones are in sight from now on; without a range nothing is asked any more, and nothing kept. */
  want(filter: string, range: SessionRange | undefined): void {
    this.#filter = filter;
    this.#range = range && { first: range.first, last: Math.min(range.last, range.first + MAX_COUNT) };
    if (range === undefined) this.#list = undefined;
    this.#next();
  }

  #next(): void {
    clearTimeout(this.#timer);
    if (this.#range === undefined || this.#isAsking) return;
    const pauseMs = this.#hasFailed ? RETRY_MS : this.#has(this.#range) ? REFRESH_MS : GAP_MS;
    const dueInMs = this.#askedAt + pauseMs - performance.now();
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
    this.#isAsking = true;
    this.#askedAt = performance.now();
    try {
      const list = await this.#ask(from, last + margin - from, filter);
      this.#hasFailed = false;
      if (this.#range !== undefined) {
        this.#list = list;
        this.#listFilter = filter;
      }
    } catch {
      // The rows stay as they were: that the connection is lost is said on top.
      this.#hasFailed = true;
    }
    this.#isAsking = false;
    this.#onChange();
    this.#next();
  }
}
