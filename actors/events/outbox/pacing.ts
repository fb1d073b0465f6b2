// Rate limits for outbound messages: per credential, since platforms count its messages over all chats, and
// per destination. Both allow a burst after idle time. The clock is monotonic.
//
// Messages never queue here: a message above a limit is rejected immediately, and the error contains the
// delay. A message counts from its response time, since the platform has then certainly counted it. If the
// platform refuses a message for its destination, only that destination is paused, and it gets no further
// burst until it was idle long enough. A refusal for the credential pauses all destinations
// (libs/rest/rate-limiter.ts). Adapters whose platform reports the remaining quota in headers call `hold`.
// The number of entries is limited; a forgotten entry costs one refusal at worst.

import { RateLimiter } from '../../../libs/rest/rate-limiter.ts';
import { addTimestamp, nextAllowedAt, type WindowLimit } from '../../../libs/rest/sliding-window.ts';
import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import { DeliveryError } from './delivery-error.ts';
import type { OutboundLimits } from './limits.ts';

export interface DestinationLimit {
  /** Minimum interval between messages. */
  readonly everyMs: number;
  /** @default 1 */
  readonly burst?: number | undefined;
  /** Additional sliding-window limit. */
  readonly window?: WindowLimit | undefined;
}

export interface PacingOptions {
  /** Minimum interval between messages per credential. */
  readonly accountEveryMs: number;
  /** Burst per credential. @default 1 */
  readonly accountBurst?: number | undefined;
  readonly destination: DestinationLimit;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
  /** @default 10000 */
  readonly maxDestinations?: number;
}

export interface PacedSend {
  /** Name of the credential, not the secret itself. */
  readonly account: string;
  readonly destination: string;
  /** Limit of the destination. @default `PacingOptions.destination` */
  readonly limit?: DestinationLimit | undefined;
  /**
   * Returns true if a rate-limit error concerns only the destination. @default false: the whole credential
   */
  readonly isOfDestination?: ((error: DeliveryError) => boolean) | undefined;
}

/** Pause for rate limits without `Retry-After`. */
const DEFAULT_PAUSE_MS = 60_000;
const LONGEST_MS = 3_600_000;
const MAX_ACCOUNTS = 1_000;
/** Limit of pauses in the report for operators. */
const MAX_HOLDS = 20;
const ACCOUNT = 'account';

interface DestinationState {
  /** Time when the burst is restored. */
  readonly burstRestoredAt: number;
  /** End of the pause that the platform requested. */
  readonly heldUntil: number;
  /** True after a refusal: the destination gets no burst. */
  readonly wasRefused: boolean;
  /** Times of the messages in the window, earliest first. */
  readonly times: readonly number[];
  /** Time when the window is empty. */
  readonly emptyAt: number;
}

/** State of a destination without recent messages and pauses. */
const FREE: DestinationState = { burstRestoredAt: 0, heldUntil: 0, wasRefused: false, times: [], emptyAt: 0 };

export class Pacing {
  readonly #options: PacingOptions;
  readonly #now: () => number;
  readonly #maxDestinations: number;
  readonly #accounts = new Map<string, RateLimiter>();
  /** Destinations whose limit is in effect, most recent last. */
  readonly #destinations = new Map<string, DestinationState>();

  constructor(options: PacingOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#maxDestinations = options.maxDestinations ?? 10_000;
  }

  /**
   * Sends a request within the limits. Rejects with a DeliveryError (`isRateLimited`) if a limit is reached,
   * here or at the platform.
   */
  async run<T>(send: PacedSend, request: () => Promise<T>): Promise<T> {
    const { account, destination, isOfDestination = () => false } = send;
    const limiter = this.#limiterOf(account);
    const name = nameOf(account, destination);
    const limit = send.limit ?? this.#options.destination;
    const destinationPauseMs = this.#pauseOf(name, limit);
    if (destinationPauseMs > 0) throw rateLimitError(destinationPauseMs);
    const accountPauseMs = limiter.reserveSlot();
    if (accountPauseMs !== undefined) throw rateLimitError(accountPauseMs);
    const sentAt = this.#now();
    this.#count(name, limit);
    try {
      return await limiter.run(request, (error) => {
        if (!(error instanceof DeliveryError) || !error.isRateLimited) return undefined;
        const forMs = error.retryAfterMs ?? DEFAULT_PAUSE_MS;
        this.#uncount(name, limit);
        if (!isOfDestination(error)) return forMs;
        this.hold(account, destination, forMs, limit);
        return undefined;
      });
    } finally {
      this.#shiftLast(name, this.#now() - sentAt);
    }
  }

  /** Pauses the destination for `forMs`, as the platform requested. */
  hold(
    account: string,
    destination: string,
    forMs: number,
    limit: DestinationLimit = this.#options.destination,
  ): void {
    const name = nameOf(account, destination);
    const state = this.#destinations.get(name) ?? FREE;
    const heldUntil = Math.max(state.heldUntil, this.#now() + Math.min(LONGEST_MS, Math.max(0, forMs)));
    const { everyMs, burst = 1 } = limit;
    const burstRestoredAt = Math.max(state.burstRestoredAt, heldUntil + (burst - 1) * everyMs);
    this.#remember(name, { ...state, burstRestoredAt, heldUntil, wasRefused: true });
  }

  /**
   * Returns the limits and the current pauses, for operators. `kinds` contains the limit of each kind of
   * destination; `limitOf` returns the limit of a destination.
   */
  currentLimits(
    account: string,
    kinds: Readonly<Record<string, DestinationLimit>>,
    limitOf: (destination: string) => DestinationLimit = () => this.#options.destination,
  ): Pick<OutboundLimits, 'rates' | 'held'> {
    const { accountEveryMs: perMs, accountBurst: atOnce } = this.#options;
    const kindRates = Object.entries(kinds).flatMap(([of, { everyMs, burst, window }]) => [
      { of, most: 1, perMs: everyMs, atOnce: burst },
      ...(window === undefined ? [] : [{ of, most: window.most, perMs: window.ms }]),
    ]);
    const accountHold = { of: ACCOUNT, forMs: this.#accounts.get(account)?.waitMs ?? 0 };
    const prefix = nameOf(account, '');
    const destinationHolds = [...this.#destinations.keys()].flatMap((name) => {
      if (!name.startsWith(prefix)) return [];
      const of = name.slice(prefix.length);
      return [{ of, forMs: this.#pauseOf(name, limitOf(of)) }];
    });
    return {
      rates: [{ of: ACCOUNT, most: 1, perMs, atOnce }, ...kindRates],
      held: [accountHold, ...destinationHolds]
        .filter(({ forMs }) => forMs > 0)
        .sort((a, b) => b.forMs - a.forMs)
        .slice(0, MAX_HOLDS),
    };
  }

  /** Returns the milliseconds until the destination may receive the next message. */
  #pauseOf(name: string, { everyMs, burst = 1, window }: DestinationLimit): number {
    // A destination with a burst may receive messages before the burst is fully restored.
    const { burstRestoredAt, heldUntil, times } = this.#destinations.get(name) ?? FREE;
    const windowAt = window === undefined ? 0 : nextAllowedAt(times, window);
    return Math.max(
      0,
      Math.ceil(Math.max(burstRestoredAt - (burst - 1) * everyMs, heldUntil, windowAt) - this.#now()),
    );
  }

  #count(name: string, { everyMs, burst = 1, window }: DestinationLimit): void {
    const before = this.#destinations.get(name) ?? FREE;
    const now = this.#now();
    const wasRefused = before.wasRefused && before.burstRestoredAt > now;
    const from = wasRefused ? now + (burst - 1) * everyMs : now;
    const state = {
      ...before,
      wasRefused,
      burstRestoredAt: Math.max(from, before.burstRestoredAt) + everyMs,
    };
    if (window === undefined) this.#remember(name, state);
    else {
      const times = addTimestamp(before.times, now, window);
      this.#remember(name, { ...state, times, emptyAt: now + window.ms });
    }
  }

  /** Removes a refused message from the counts; the platform does not count it either. */
  #uncount(name: string, { everyMs }: DestinationLimit): void {
    const state = this.#destinations.get(name);
    if (state === undefined) return;
    this.#destinations.set(name, {
      ...state,
      burstRestoredAt: state.burstRestoredAt - everyMs,
      times: state.times.slice(0, -1),
    });
  }

  /** Moves the count of the last message to the response time. */
  #shiftLast(name: string, ms: number): void {
    const state = this.#destinations.get(name);
    if (state === undefined || ms <= 0) return;
    const { burstRestoredAt, times, emptyAt } = state;
    const last = times.at(-1);
    const shiftedTimes = last === undefined ? times : [...times.slice(0, -1), last + ms];
    this.#destinations.set(name, {
      ...state,
      burstRestoredAt: burstRestoredAt + ms,
      times: shiftedTimes,
      emptyAt: emptyAt + ms,
    });
  }

  #remember(name: string, state: DestinationState): void {
    this.#destinations.delete(name);
    this.#destinations.set(name, state);
    const now = this.#now();
    for (const [oldest, { burstRestoredAt, heldUntil, emptyAt }] of this.#destinations) {
      const isOver = burstRestoredAt <= now && heldUntil <= now && emptyAt <= now;
      if (!isOver && this.#destinations.size <= this.#maxDestinations) break;
      this.#destinations.delete(oldest);
    }
  }

  #limiterOf(account: string): RateLimiter {
    let limiter = this.#accounts.get(account);
    if (limiter !== undefined) return limiter;
    limiter = new RateLimiter(this.#options.accountEveryMs, this.#now, this.#options.accountBurst);
    this.#accounts.set(account, limiter);
    deleteOldest(this.#accounts, MAX_ACCOUNTS);
    return limiter;
  }
}

const nameOf = (account: string, destination: string) => `${account} ${destination}`;

function rateLimitError(retryAfterMs: number): DeliveryError {
  return new DeliveryError('rate limited: waiting for a send slot', {
    isRateLimited: true,
    isUncontacted: true,
    retryAfterMs,
  });
}
