// How fast messages leave: per credential, whose limit a platform counts over all its chats, and per destination, of which it
// takes a few at once and then only so many. Where a platform says in its headers what is left, `hold` takes that over.
//
// A message counts from its answer on: the platform has counted it by then, however slow the way there was. The clock is
// one that nobody sets.
//
// PG1  nothing waits here: who may not go is told at once when to come again, and is deferred by so long.
// PG2  of a destination at most `burst` leave together, in the long run one in `everyMs`, and no more than its window holds.
//      What is refused to one destination holds up no other, and it has no burst then until it has rested for as long as one
//      takes; what is refused to the credential holds up all of it (libs/rest/pace.ts).
// PG3  what is remembered is bounded. Of what is forgotten the worst is one refusal by the platform.

import { Pace } from '../../../libs/rest/pace.ts';
import { freeAt, type SpanLimit, withOneMore } from '../../../libs/rest/span-limit.ts';
import { forgetOldest } from '../../base/bounds/forget-oldest.ts';
import { DeliveryError } from './delivery-error.ts';
import type { OutboundLimits } from './limits.ts';

export interface PlaceLimit {
  readonly everyMs: number;
  /** @default 1 */
  readonly burst?: number | undefined;
  /** Besides, so many in any span of that length. */
  readonly window?: SpanLimit | undefined;
}

export interface PacingOptions {
  /** Between two messages of one credential. */
  readonly accountEveryMs: number;
  /** So many of them may leave together. @default 1 */
  readonly accountBurst?: number | undefined;
  readonly place: PlaceLimit;
  /** Milliseconds that only grow. */
  readonly now?: () => number;
  /** @default 10000 */
  readonly maxPlaces?: number;
}

export interface PacedTurn {
  /** The credential, under any name that is no secret and the same for all that share it. */
  readonly account: string;
  readonly place: string;
  /** Of this destination, where it is another one than that of most. */
  readonly limit?: PlaceLimit | undefined;
  /** Whether a refusal for now is about the destination alone. @default the whole credential */
  readonly isOfPlace?: ((error: DeliveryError) => boolean) | undefined;
}

/** Where a platform that takes no more does not say for how long. */
const TOO_SOON_MS = 60_000;
const LONGEST_MS = 3_600_000;
const MAX_ACCOUNTS = 1_000;
const MAX_SHOWN = 20;
const ACCOUNT = 'account';

interface PlaceState {
  /** When its burst is whole again. */
  readonly wholeAt: number;
  /** As the platform said. */
  readonly heldUntil: number;
  /** Since then not even what is left of the burst may leave together. */
  readonly wasRefused: boolean;
  /** Of those that count in the window, the earliest first. */
  readonly times: readonly number[];
  /** When none of them counts any more. */
  readonly emptyAt: number;
}

const FREE: PlaceState = { wholeAt: 0, heldUntil: 0, wasRefused: false, times: [], emptyAt: 0 };

export class Pacing {
  readonly #options: PacingOptions;
  readonly #now: () => number;
  readonly #maxPlaces: number;
  readonly #accounts = new Map<string, Pace>();
  /** Those of which nothing more is to be known are not in it. */
  readonly #places = new Map<string, PlaceState>();

  constructor(options: PacingOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#maxPlaces = options.maxPlaces ?? 10_000;
  }

  /** Has a request leave, or rejects with a DeliveryError that is too soon: its own, or one that says when to come again. */
  async run<T>(turn: PacedTurn, request: () => Promise<T>): Promise<T> {
    const { account, place, isOfPlace = () => false } = turn;
    const pace = this.#paceOf(account);
    const name = nameOf(account, place);
    const limit = turn.limit ?? this.#options.place;
    const placeMs = this.#pauseOf(name, limit);
    if (placeMs > 0) throw tooSoon(placeMs);
    const pauseMs = pace.takeTurn();
    if (pauseMs !== undefined) throw tooSoon(pauseMs);
    const leftAt = this.#now();
    this.#count(name, limit);
    try {
      return await pace.run(request, (error) => {
        if (!(error instanceof DeliveryError) || !error.isTooSoon) return undefined;
        const forMs = error.retryAfterMs ?? TOO_SOON_MS;
        this.#takeBack(name, limit);
        if (!isOfPlace(error)) return forMs;
        this.hold(account, place, forMs, limit);
        return undefined;
      });
    } finally {
      this.#prolong(name, this.#now() - leftAt);
    }
  }

  /** The platform has said that this destination takes nothing more for so long. */
  hold(account: string, place: string, forMs: number, limit: PlaceLimit = this.#options.place): void {
    const name = nameOf(account, place);
    const state = this.#places.get(name) ?? FREE;
    const heldUntil = Math.max(state.heldUntil, this.#now() + Math.min(LONGEST_MS, Math.max(0, forMs)));
    const { everyMs, burst = 1 } = limit;
    const wholeAt = Math.max(state.wholeAt, heldUntil + (burst - 1) * everyMs);
    this.#remember(name, { ...state, wholeAt, heldUntil, wasRefused: true });
  }

  /** For an operator. `kinds` are the limits of destinations by what these are called; `limitOf` says whose is which. */
  inForce(
    account: string,
    kinds: Readonly<Record<string, PlaceLimit>>,
    limitOf: (place: string) => PlaceLimit = () => this.#options.place,
  ): Pick<OutboundLimits, 'rates' | 'held'> {
    const { accountEveryMs: perMs, accountBurst: atOnce } = this.#options;
    const ofKinds = Object.entries(kinds).flatMap(([of, { everyMs, burst, window }]) => [
      { of, most: 1, perMs: everyMs, atOnce: burst },
      ...(window === undefined ? [] : [{ of, most: window.most, perMs: window.ms }]),
    ]);
    const ofAccount = { of: ACCOUNT, forMs: this.#accounts.get(account)?.waitMs ?? 0 };
    const before = nameOf(account, '');
    const ofPlaces = [...this.#places.keys()].flatMap((name) => {
      if (!name.startsWith(before)) return [];
      const of = name.slice(before.length);
      return [{ of, forMs: this.#pauseOf(name, limitOf(of)) }];
    });
    return {
      rates: [{ of: ACCOUNT, most: 1, perMs, atOnce }, ...ofKinds],
      held: [ofAccount, ...ofPlaces]
        .filter(({ forMs }) => forMs > 0)
        .sort((a, b) => b.forMs - a.forMs)
        .slice(0, MAX_SHOWN),
    };
  }

  /** 0: it may go now. */
  #pauseOf(name: string, { everyMs, burst = 1, window }: PlaceLimit): number {
    const { wholeAt, heldUntil, times } = this.#places.get(name) ?? FREE;
    const windowAt = window === undefined ? 0 : freeAt(times, window);
    return Math.max(
      0,
      Math.ceil(Math.max(wholeAt - (burst - 1) * everyMs, heldUntil, windowAt) - this.#now()),
    );
  }

  #count(name: string, { everyMs, burst = 1, window }: PlaceLimit): void {
    const before = this.#places.get(name) ?? FREE;
    const now = this.#now();
    const wasRefused = before.wasRefused && before.wholeAt > now;
    const from = wasRefused ? now + (burst - 1) * everyMs : now;
    const state = { ...before, wasRefused, wholeAt: Math.max(from, before.wholeAt) + everyMs };
    if (window === undefined) this.#remember(name, state);
    else {
      const times = withOneMore(before.times, now, window);
      this.#remember(name, { ...state, times, emptyAt: now + window.ms });
    }
  }

  /** It was refused: the platform does not count it either. */
  #takeBack(name: string, { everyMs }: PlaceLimit): void {
    const state = this.#places.get(name);
    if (state === undefined) return;
    this.#places.set(name, { ...state, wholeAt: state.wholeAt - everyMs, times: state.times.slice(0, -1) });
  }

  /** The answer took so long. */
  #prolong(name: string, ms: number): void {
    const state = this.#places.get(name);
    if (state === undefined || ms <= 0) return;
    const { wholeAt, times, emptyAt } = state;
    const last = times.at(-1);
    const kept = last === undefined ? times : [...times.slice(0, -1), last + ms];
    this.#places.set(name, { ...state, wholeAt: wholeAt + ms, times: kept, emptyAt: emptyAt + ms });
  }

  #remember(name: string, state: PlaceState): void {
    this.#places.delete(name);
    this.#places.set(name, state);
    const now = this.#now();
    for (const [oldest, { wholeAt, heldUntil, emptyAt }] of this.#places) {
      const isOver = wholeAt <= now && heldUntil <= now && emptyAt <= now;
      if (!isOver && this.#places.size <= this.#maxPlaces) break;
      this.#places.delete(oldest);
    }
  }

  #paceOf(account: string): Pace {
    let pace = this.#accounts.get(account);
    if (pace !== undefined) return pace;
    pace = new Pace(this.#options.accountEveryMs, this.#now, this.#options.accountBurst);
    this.#accounts.set(account, pace);
    forgetOldest(this.#accounts, MAX_ACCOUNTS);
    return pace;
  }
}

const nameOf = (account: string, place: string) => `${account} ${place}`;

function tooSoon(retryAfterMs: number): DeliveryError {
  return new DeliveryError('it is not yet its turn: more at once is refused by the platform', {
    isTooSoon: true,
    isUnasked: true,
    retryAfterMs,
  });
}
