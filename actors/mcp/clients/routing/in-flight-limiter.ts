// Limits the requests in flight across clients and servers (`limits.in_flight`). A request holds one slot,
// counted for its server and its session; without a free slot it fails immediately (A8, ARCHITECTURE.md). No
// server or session can take all slots (A6; budget.ts). Responses from memory (ping, cached lists) need no
// slot. Requests that only need a server description use reserved slots, and requests above LARGE_BYTES also
// reserve bytes. Suspended calls hold neither (suspended-calls.ts).

import { Budget, Share } from '../../../base/bounds/budget.ts';
import { OverloadedError } from '../../../base/errors/errors.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import type { ClientExchange } from '../exchange.ts';
import type { ClientSession } from '../sessions/session.ts';

/**
 * Ratio of ordinary slots to slots reserved for server descriptions; also the minimum number of reserved
 * slots.
 */
const INTRODUCTION_RATIO = 8;

const LARGE_BYTES = 65_536;
/**
 * Minimum budget for large requests, in bytes. The budget also suffices for LARGEST requests of the maximum
 * size.
 */
const MIN_LARGE_TOTAL = 64 * 1024 * 1024;
const LARGEST = 32;

export class InFlightLimiter {
  readonly #calls: Budget;
  readonly #large: Budget;
  readonly #introductions: Budget;
  /** Share of the requests that wait for merged lists, and therefore for no particular server. */
  readonly #mergedLists = new Share();
  readonly #largeMergedLists = new Share();

  /** `maxBytes` is the maximum request size. */
  constructor(inFlight: number, maxBytes = 0) {
    this.#calls = new Budget(inFlight);
    this.#introductions = new Budget(Math.max(INTRODUCTION_RATIO, Math.floor(inFlight / INTRODUCTION_RATIO)));
    this.#large = new Budget(Math.max(MIN_LARGE_TOTAL, LARGEST * maxBytes));
  }

  /**
   * Takes a slot for a request that is sent now, or keeps the slot it holds. If no slot is free, fails the
   * request and returns false.
   */
  take(exchange: ClientExchange, server: ManagedServer, session: ClientSession | undefined): boolean {
    if (exchange.budget !== undefined) {
      if (exchange.serverShare === server.slots) return true;
      this.release(exchange);
    }
    return this.#take(this.#calls, exchange, server.slots, session, server);
  }

  /** Same as `take`, for a request that waits. `server` is undefined for merged lists. */
  takeWhileWaiting(
    exchange: ClientExchange,
    server: ManagedServer | undefined,
    session: ClientSession | undefined,
    isIntroduction: boolean,
  ): boolean {
    if (server !== undefined && isIntroduction)
      return this.#take(this.#introductions, exchange, server.introductions, undefined, server);
    return this.#take(this.#calls, exchange, server?.slots ?? this.#mergedLists, session, server);
  }

  /** Releases the slot when the request completes, or before the request takes the slot of another server. */
  release(exchange: ClientExchange): void {
    const { budget, serverShare, sessionShare } = exchange;
    if (budget === undefined || serverShare === undefined) return;
    budget.release(1, serverShare, sessionShare);
    exchange.budget = undefined;
    exchange.releaseBytes?.();
    exchange.releaseBytes = undefined;
  }

  #take(
    budget: Budget,
    exchange: ClientExchange,
    serverShare: Share,
    session: ClientSession | undefined,
    server: ManagedServer | undefined,
  ): boolean {
    const sessionShare = session?.slots;
    if (!budget.acquire(1, serverShare, sessionShare)) {
      const isServerFull = !budget.hasCapacity(1, serverShare);
      const holder = isServerFull ? (server === undefined ? 'lists' : `server ${server.id}`) : 'this session';
      exchange.fail(
        this.#refusal(budget, holder, isServerFull ? serverShare : (sessionShare ?? serverShare)),
        true,
      );
      return false;
    }
    if (exchange.bytes >= LARGE_BYTES && !this.#takeLarge(exchange, session, server)) {
      budget.release(1, serverShare, sessionShare);
      return false;
    }
    exchange.budget = budget;
    exchange.serverShare = serverShare;
    exchange.sessionShare = sessionShare;
    return true;
  }

  #takeLarge(
    exchange: ClientExchange,
    session: ClientSession | undefined,
    server: ManagedServer | undefined,
  ): boolean {
    const { bytes } = exchange;
    const share = server?.largeBytes ?? this.#largeMergedLists;
    const sessionShare = session?.largeBytes;
    if (!this.#large.acquire(bytes, share, sessionShare)) {
      const { used, total } = this.#large;
      exchange.fail(
        new OverloadedError(
          `large requests in flight use ${used} of ${total} bytes, and the rest is reserved for other servers and ` +
            `sessions; this request has ${bytes} bytes; try again later, or raise limits.body_bytes`,
        ),
        true,
      );
      return false;
    }
    exchange.releaseBytes = () => this.#large.release(bytes, share, sessionShare);
    return true;
  }

  #refusal(budget: Budget, holder: string, { used }: Share): OverloadedError {
    const { free, total } = budget;
    const advice = 'try again shortly, or raise limits.in_flight';
    const requests =
      budget === this.#calls ? 'requests in flight' : 'requests that wait for a server description';
    if (free === 0) return new OverloadedError(`all ${total} slots for ${requests} are in use; ${advice}`);
    return new OverloadedError(
      `${holder} uses ${used} of ${total} slots for ${requests}, and the ${free} free ones are reserved for others; ${advice}`,
    );
  }
}
