// Limits the requests in flight, over all clients and servers together (`limits.in_flight`), and shares the places among
// them. A call counts for its server and its session at once; stateless requests have no identity, so that they count
// for their server only.
//
// A place costs a call a few comparisons, and no memory.
//
// PL1 (A8)  whatever has to wait has a place; who finds none is refused at once.
// PL2 (A6)  no server and no session gets all of them (budget.ts): however many hang, others get through.
// PL3       what is answered at once takes none: pings, discovery, lists that are known. Who waits to be introduced to a server
//           takes one of those that are kept for that.
// PL5 (A8)  a request is in memory until it ends. Those of LARGE_BYTES or more hold bytes besides their place, of a budget of
//           their own; the others are bounded by the places. What is suspended for its client has neither (suspended-calls.ts).

import { Budget, Share } from '../../../base/bounds/budget.ts';
import { OverloadedError } from '../../../base/errors/errors.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import type { ClientExchange } from '../client-exchange.ts';
import type { ClientSession } from '../sessions/session.ts';

/** Beside those of `limits.in_flight` there is one in so many for introductions. */
const INTRODUCTIONS = 8;

const LARGE_BYTES = 65_536;
/** For large requests, all together; or so many of the largest. */
const MIN_LARGE_TOTAL = 64 * 1024 * 1024;
const LARGEST = 32;

export class InFlightLimiter {
  readonly #calls: Budget;
  readonly #large: Budget;
  readonly #introductions: Budget;
  /** Of requests that wait for the lists of all servers. */
  readonly #everywhere = new Share();
  readonly #largeEverywhere = new Share();

  /** For requests of up to `maxBytes`. */
  constructor(inFlight: number, maxBytes = 0) {
    this.#calls = new Budget(inFlight);
    this.#introductions = new Budget(Math.max(INTRODUCTIONS, Math.floor(inFlight / INTRODUCTIONS)));
    this.#large = new Budget(Math.max(MIN_LARGE_TOTAL, LARGEST * maxBytes));
  }

  /** For a request that is sent to this server now. False when there is no place: then its client has been told. */
  take(exchange: ClientExchange, server: ManagedServer, session: ClientSession | undefined): boolean {
    if (exchange.budget !== undefined) {
      if (exchange.serverShare === server.places) return true;
      this.give(exchange);
    }
    return this.#take(this.#calls, exchange, server.places, session, server);
  }

  /** As `take`, for one that waits and is not sent yet; `server` is undefined where it waits for all of them. */
  wait(
    exchange: ClientExchange,
    server: ManagedServer | undefined,
    session: ClientSession | undefined,
    isIntroduction: boolean,
  ): boolean {
    if (server !== undefined && isIntroduction)
      return this.#take(this.#introductions, exchange, server.introductions, undefined, server);
    return this.#take(this.#calls, exchange, server?.places ?? this.#everywhere, session, server);
  }

  /** The request has ended, or goes elsewhere. */
  give(exchange: ClientExchange): void {
    const { budget, serverShare, sessionShare } = exchange;
    if (budget === undefined || serverShare === undefined) return;
    budget.give(1, serverShare, sessionShare);
    exchange.budget = undefined;
    exchange.giveBytes?.();
    exchange.giveBytes = undefined;
  }

  #take(
    budget: Budget,
    exchange: ClientExchange,
    serverShare: Share,
    session: ClientSession | undefined,
    server: ManagedServer | undefined,
  ): boolean {
    const sessionShare = session?.places;
    if (!budget.take(1, serverShare, sessionShare)) {
      const isServers = !budget.hasRoom(1, serverShare);
      const who = isServers ? (server === undefined ? 'lists' : `server ${server.id}`) : 'this session';
      exchange.fail(
        this.#refusal(budget, who, isServers ? serverShare : (sessionShare ?? serverShare)),
        true,
      );
      return false;
    }
    if (exchange.bytes >= LARGE_BYTES && !this.#takeLarge(exchange, session, server)) {
      budget.give(1, serverShare, sessionShare);
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
    const share = server?.largeBytes ?? this.#largeEverywhere;
    const sessionShare = session?.largeBytes;
    if (!this.#large.take(bytes, share, sessionShare)) {
      const { taken, total } = this.#large;
      exchange.fail(
        new OverloadedError(
          `large requests in flight take ${taken} of the ${total} bytes they may, and the rest is for other servers and ` +
            `sessions than that of this one with ${bytes}; try again when some have ended, or raise limits.body_bytes`,
        ),
        true,
      );
      return false;
    }
    exchange.giveBytes = () => this.#large.give(bytes, share, sessionShare);
    return true;
  }

  #refusal(budget: Budget, who: string, { held }: Share): OverloadedError {
    const { free, total } = budget;
    const advice = 'try again shortly, or raise limits.in_flight';
    const what = budget === this.#calls ? 'requests in flight' : 'requests that wait for an introduction';
    if (free === 0) return new OverloadedError(`the gateway has ${total} ${what}; ${advice}`);
    return new OverloadedError(
      `${who} has ${held} of the gateway's ${total} places for ${what}, and the ${free} that are free are for others; ${advice}`,
    );
  }
}
