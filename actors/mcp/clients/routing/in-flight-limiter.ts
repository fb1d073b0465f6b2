// Limits the requests in flight across clients and servers (`limits.in_flight`). A request holds one slot,
// counted for its server and its client; without a free slot it fails immediately (A8, ARCHITECTURE.md). No
// server or client can take all slots, and no client can take all slots of a server (A6; budget.ts). A client
// is a principal (verified sender) or a session (client-shares.ts). Responses from memory (ping, cached
// lists) need no slot, and calls that wait for input of a modern client hold none (suspended-calls.ts).

import { Budget, Share } from '../../../base/bounds/budget.ts';
import { type LimitUsage, largestHolders } from '../../../base/bounds/limit-usage.ts';
import { OverloadedError } from '../../../base/errors/errors.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import type { ClientExchange } from '../exchange.ts';

/**
 * Ratio of ordinary slots to slots for introductions: requests for the description of a server. Also the
 * minimum number of slots for introductions.
 */
const INTRODUCTION_RATIO = 8;

/** Larger requests also reserve bytes. */
const LARGE_BYTES = 65_536;
/** Minimum budget for large requests, in bytes. */
const MIN_LARGE_TOTAL = 64 * 1024 * 1024;
/** Number of requests of the maximum size that fit into the budget. */
const MAX_SIZE_REQUESTS = 32;

export class InFlightLimiter {
  readonly #calls: Budget;
  readonly #large: Budget;
  readonly #introductions: Budget;
  /** Share of the requests that wait for the lists of all servers, and therefore for no particular server. */
  readonly #mergedLists = new Share();
  readonly #largeMergedLists = new Share();

  /** `maxBytes` is the maximum request size. */
  constructor(inFlight: number, maxBytes = 0) {
    this.#calls = new Budget(inFlight);
    this.#introductions = new Budget(Math.max(INTRODUCTION_RATIO, Math.floor(inFlight / INTRODUCTION_RATIO)));
    this.#large = new Budget(Math.max(MIN_LARGE_TOTAL, MAX_SIZE_REQUESTS * maxBytes));
  }

  /** Usage by server. */
  usageOf(servers: readonly ManagedServer[]): LimitUsage {
    const usages = servers.map(({ id, slots }) => [`server ${id}`, slots.used] as const);
    const { used, total } = this.#calls;
    const merged = ['merged lists', this.#mergedLists.used] as const;
    return { used, max: total, holders: largestHolders([...usages, merged]) };
  }

  /**
   * Takes a slot for a request that is sent now, or keeps the slot it holds. If no slot is free, fails the
   * request and returns false.
   */
  take(exchange: ClientExchange, server: ManagedServer): boolean {
    if (exchange.budget !== undefined) {
      if (exchange.serverShare === server.slots) return true;
      this.release(exchange);
    }
    return this.#take(this.#calls, exchange, server.slots, server);
  }

  /** Same as `take`, for a request that waits. `server` is undefined for merged lists. */
  takeWhileWaiting(
    exchange: ClientExchange,
    server: ManagedServer | undefined,
    isIntroduction: boolean,
  ): boolean {
    if (server !== undefined && isIntroduction)
      return this.#take(this.#introductions, exchange, server.introductions, server);
    return this.#take(this.#calls, exchange, server?.slots ?? this.#mergedLists, server);
  }

  /** Releases the slot when the request completes, or before the request takes the slot of another server. */
  release(exchange: ClientExchange): void {
    const { budget, serverShare } = exchange;
    if (budget === undefined || serverShare === undefined) return;
    budget.release(1, serverShare, this.#clientShareOf(exchange, budget));
    exchange.budget = undefined;
    exchange.releaseBytes?.();
    exchange.releaseBytes = undefined;
  }

  #take(
    budget: Budget,
    exchange: ClientExchange,
    serverShare: Share,
    server: ManagedServer | undefined,
  ): boolean {
    const clientShare = this.#clientShareOf(exchange, budget);
    if (!budget.acquireFor(1, serverShare, clientShare)) {
      const isServerFull = clientShare === undefined || !budget.hasCapacity(1, serverShare);
      const holder = isServerFull ? (server === undefined ? 'lists' : `server ${server.id}`) : 'this client';
      // `true`: the request was certainly not sent.
      exchange.fail(this.#refusal(budget, holder, isServerFull ? serverShare : clientShare), true);
      return false;
    }
    if (exchange.bytes >= LARGE_BYTES && !this.#takeLarge(exchange, server)) {
      budget.release(1, serverShare, clientShare);
      return false;
    }
    exchange.budget = budget;
    exchange.serverShare = serverShare;
    return true;
  }

  #clientShareOf({ client }: ClientExchange, budget: Budget): Share | undefined {
    return budget === this.#introductions ? client?.introductions : client?.slots;
  }

  #takeLarge(exchange: ClientExchange, server: ManagedServer | undefined): boolean {
    const { bytes } = exchange;
    const share = server?.largeBytes ?? this.#largeMergedLists;
    const clientShare = exchange.client?.largeBytes;
    if (!this.#large.acquireFor(bytes, share, clientShare)) {
      const { used, total } = this.#large;
      exchange.fail(
        new OverloadedError(
          `large requests in flight use ${used} of ${total} bytes, and the rest is reserved for other servers and ` +
            `clients; this request has ${bytes} bytes; try again later, or raise limits.body_bytes`,
        ),
        true,
      );
      return false;
    }
    exchange.releaseBytes = () => this.#large.release(bytes, share, clientShare);
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
