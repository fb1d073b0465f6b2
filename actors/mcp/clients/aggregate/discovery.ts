// Fetches unknown lists by starting servers: servers without cached lists, and servers that may list more
// items to a certain client. Concurrent starts are limited, and each server starts once. List requests wait
// for servers without known lists, up to a timeout and only during their first start; lists that arrive later
// are announced by list_changed. Discovery continues if clients disconnect.

import { deleteOldest } from '../../../base/bounds/delete-oldest.ts';
import { forEachLimited } from '../../../base/bounds/for-each-limited.ts';
import type { CallOwner } from '../../servers/calls/owner.ts';
import { classKey, extensionsOf, listingCapabilities } from '../../servers/lists/listing-capabilities.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';

export interface DiscoverableServers {
  /** The enabled servers. */
  servers(): Iterable<ManagedServer>;
  /** Changes when the servers or their caches may have changed. */
  readonly stamp: number;
}

/**
 * A client that requests lists. A server with `isolation: session` is queried on a connection of the client.
 */
export interface ListingClient extends Pick<CallOwner, 'capabilities' | 'era'> {
  /**
   * Calls `visit` with the session, or with the connection that only this client uses, as owner; or with
   * undefined for the connection that all clients share. It stays reserved until `visit` resolves.
   */
  withOwner(server: ManagedServer, visit: (owner: CallOwner | undefined) => Promise<void>): Promise<void>;
}

/** Servers that start together for a list request. List requests wait for the end of the round. */
interface Round {
  /** Era and capabilities of the clients that the round serves; '' if it serves every client. */
  readonly key: string;
  readonly startedAt: number;
  /** Resolves when every server in the round has returned its lists or failed. */
  readonly end: Promise<void>;
}

/** Maximum number of servers that start at a time. */
const CONCURRENCY = 8;
/** Minimum time between two attempts at a server for clients with equal capabilities. */
const RETRY_MS = 10_000;
/** Maximum number of recorded attempts per server. Clients choose their capabilities. */
const MAX_ATTEMPTS = 64;
/** Pauses before retries without a list request: the first one, doubled up to the longest one. */
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 128_000;
/** Maximum wait for additional items of servers with cached lists, in milliseconds. */
const MORE_MS = 4_000;

export class Discovery {
  readonly #servers: DiscoverableServers;
  readonly #isAwaited: () => boolean;
  #retryTimer: NodeJS.Timeout | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  /** Result of `#candidates`, valid until the stamp of the servers changes. */
  #candidateCache: { readonly stamp: number; readonly servers: readonly ManagedServer[] } | undefined;
  /** Time of the last attempt per server, by client capabilities. */
  readonly #attempts = new WeakMap<ManagedServer, Map<string, number>>();
  readonly #rounds = new Set<Round>();
  /** Functions that cancel current waits. */
  readonly #waiting = new Set<() => void>();
  #isClosed = false;

  /** `isAwaited` returns true while a client uses the lists, and can be notified of changes. */
  constructor(servers: DiscoverableServers, isAwaited: () => boolean = () => false) {
    this.#servers = servers;
    this.#isAwaited = isAwaited;
  }

  /** Fetches unknown lists of servers in the background. */
  learn(client?: ListingClient | undefined): void {
    this.#learn(client, false);
  }

  /**
   * Starts servers with unknown lists; with `isForMore` also servers that may list more items to this client.
   */
  #learn(client: ListingClient | undefined, isForMore: boolean): void {
    const candidates = this.#candidates();
    if (candidates.length === 0 || this.#isClosed) return;
    const unknown: ManagedServer[] = [];
    const more: ManagedServer[] = [];
    const retries: ManagedServer[] = [];
    const now = performance.now();
    const ownKey = keyOf(client);
    for (const server of candidates) {
      // True if the cache contains every list of the server.
      const { isLearnt } = server.cache;
      // A known server is fetched again only if it may show more to this client.
      if (isLearnt && !(isForMore && client !== undefined && server.mayShowMoreTo(client))) continue;
      const key = isLearnt ? ownKey : '';
      const attempts = this.#attempts.get(server) ?? new Map<string, number>();
      const attemptedAt = attempts.get(key);
      if (attemptedAt !== undefined && now - attemptedAt < RETRY_MS) continue;
      this.#attempts.set(server, attempts.set(key, now));
      deleteOldest(attempts, MAX_ATTEMPTS);
      // Failed servers are retried in the background; list requests wait only for the first attempt.
      if (attemptedAt !== undefined || (!isLearnt && server.lastError !== undefined)) retries.push(server);
      else (isLearnt ? more : unknown).push(server);
    }
    if (retries.length > 0) void this.#learnAll(retries, client);
    this.#scheduleRetry();
    this.#begin('', unknown, client);
    this.#begin(ownKey, more, client);
  }

  /**
   * Starts the servers whose lists this client lacks. Resolves when all have returned them or failed, or
   * after `timeoutMs` per server, counted from the start of the round. Returns undefined if there is nothing
   * to wait for.
   */
  waitForLists(timeoutMs: number, client?: ListingClient | undefined): Promise<void> | undefined {
    return this.#waitForLists(timeoutMs, performance.now() + timeoutMs, client);
  }

  /** Cancels all waits and prevents further starts. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retryTimer);
    for (const end of [...this.#waiting]) end();
  }

  #waitForLists(
    timeoutMs: number,
    until: number,
    client: ListingClient | undefined,
  ): Promise<void> | undefined {
    this.#learn(client, true);
    if (this.#rounds.size === 0 || this.#isClosed) return undefined;
    const ownKey = keyOf(client);
    const now = performance.now();
    const pendingRounds: Promise<void>[] = [];
    for (const { key, startedAt, end } of this.#rounds) {
      if (key !== '' && key !== ownKey) continue;
      const maxWaitMs = key === '' ? timeoutMs : Math.min(timeoutMs, MORE_MS);
      const remainingMs = Math.min(startedAt + maxWaitMs, until) - now;
      if (remainingMs > 0) pendingRounds.push(this.#waitFor(remainingMs, end));
    }
    // Repeated until no round is pending, because servers may have been added meanwhile.
    return pendingRounds.length === 0
      ? undefined
      : Promise.all(pendingRounds).then(() => this.#waitForLists(timeoutMs, until, client));
  }

  #begin(key: string, servers: readonly ManagedServer[], client: ListingClient | undefined): void {
    if (servers.length === 0) return;
    const end = this.#learnAll(servers, client).then(() => {
      this.#rounds.delete(round);
    });
    const round = { key, startedAt: performance.now(), end };
    this.#rounds.add(round);
  }

  async #learnAll(servers: readonly ManagedServer[], client: ListingClient | undefined): Promise<void> {
    // Installations have a limit of their own; they must not delay servers that are installed.
    const installing: Promise<void>[] = [];
    await forEachLimited(CONCURRENCY, servers, async (server) => {
      const learnt = learn(server, client);
      if (server.installation === undefined) await learnt;
      else installing.push(learnt);
    });
    await Promise.all(installing);
  }

  /**
   * Retries servers without lists while a client uses lists. Without such a client, the next list request
   * retries these servers.
   */
  #scheduleRetry(): void {
    if (this.#isClosed || this.#retryTimer !== undefined) return;
    this.#retryTimer = setTimeout(() => {
      this.#retryTimer = undefined;
      const servers = this.#candidates().filter(({ cache }) => !cache.isLearnt);
      if (servers.length === 0) this.#pauseMs = FIRST_PAUSE_MS;
      if (servers.length === 0 || !this.#isAwaited()) return;
      this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
      void this.#learnAll(
        servers.filter(({ state }) => state !== 'starting'),
        undefined,
      );
      this.#scheduleRetry();
    }, this.#pauseMs).unref();
  }

  /** Resolves after the round, after `ms`, or on close. */
  async #waitFor(ms: number, round: Promise<void>): Promise<void> {
    let end = () => {};
    const cancelled = new Promise<void>((resolve) => {
      end = resolve;
    });
    const timer = setTimeout(end, ms);
    this.#waiting.add(end);
    await Promise.race([round, cancelled]);
    this.#waiting.delete(end);
    clearTimeout(timer);
  }

  /**
   * Returns the servers that may have unknown items. A server with `isolation: shared` and no extensions
   * returns the same lists to every client, so a single fetch is enough.
   */
  #candidates(): readonly ManagedServer[] {
    const { stamp } = this.#servers;
    if (this.#candidateCache?.stamp !== stamp) {
      const all = [...this.#servers.servers()];
      const servers = all.filter(
        ({ cache, entry }) => !cache.isLearnt || entry.isolation !== 'shared' || hasExtensions(cache),
      );
      this.#candidateCache = { stamp, servers };
    }
    return this.#candidateCache.servers;
  }
}

function hasExtensions({ description }: ManagedServer['cache']): boolean {
  return Object.keys(extensionsOf(description?.capabilities ?? {})).length > 0;
}

function keyOf(client: ListingClient | undefined): string {
  return client === undefined ? '' : `${client.era} ${classKey(listingCapabilities(client.capabilities))}`;
}

async function learn(server: ManagedServer, client: ListingClient | undefined): Promise<void> {
  // A running server does not fetch failed lists again by itself.
  const isRunning = server.isRunning;
  if (client === undefined) await startServer(server, undefined);
  else await startFor(server, client);
  if (isRunning && !server.cache.isLearnt) await server.fetchMissingLists();
}

function startFor(server: ManagedServer, client: ListingClient): Promise<void> {
  return client.withOwner(server, async (owner) => {
    // The client may have disconnected meanwhile.
    await startServer(server, owner?.isEnded === true ? undefined : owner);
    // Opens a connection for this client only.
    if (owner !== undefined && owner.isEnded !== true) await server.admit(owner);
    await server.learnFor(client, owner);
  });
}

/** Resolves when the server runs or failed to start. The first connection belongs to the client `owner`. */
function startServer(server: ManagedServer, owner: CallOwner | undefined): Promise<void> {
  return new Promise((resolve) => {
    const resolveIfSettled = () => {
      // Any other state resolves: a server removed from the catalog never starts, and must not delay others.
      if (server.state === 'starting') return;
      removeListener();
      resolve();
    };
    const removeListener = server.onState(resolveIfSettled);
    // Requests the start.
    if (!server.isRunning) server.demand(owner);
    resolveIfSettled();
  });
}
