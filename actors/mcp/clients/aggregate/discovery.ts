// Discovers the lists of servers by starting them: servers of which nothing is known yet, and those that may list more
// for a certain client than they have so far. A few start at a time, each once. A client that lists waits for servers
// that nobody has ever known; what is learnt later is announced by list_changed.
//
// D1  a server that fails, or hangs, costs no list more than the waiting time, and only while its first start lasts.
// D2  learning goes on whoever has left: the next one who asks has the lists.
// D3  a list that is known is not held up for long by what a server may list besides for this client.

import { forEachLimited } from '../../../base/bounds/for-each-limited.ts';
import type { CallOwner } from '../../servers/calls/call-owner.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import { requestable } from '../../servers/notifications/server-request.ts';

export interface DiscoverableServers {
  servers(): Iterable<ManagedServer>;
  /** Another one as soon as the servers, or what is known of one, may have changed. */
  readonly stamp: number;
}

/** Who wants to see the lists. Where servers are isolated it sees what they list on a connection of its own. */
export interface ListingClient extends Pick<CallOwner, 'capabilities' | 'era'> {
  /** Has the server visited in the client's name, for as long as `visit` takes. */
  as(server: ManagedServer, visit: (owner: CallOwner | undefined) => Promise<void>): Promise<void>;
}

/** Servers whose first start begins together, and that are waited for until then. */
interface Round {
  /** What can be asked of those it is for; '' for everybody. */
  readonly key: string;
  readonly startedAt: number;
  readonly done: Promise<void>;
}

const AT_A_TIME = 8;
const RETRY_MS = 10_000;
/** For what a known server may list besides. */
const MORE_MS = 4_000;

export class Discovery {
  readonly #servers: DiscoverableServers;
  /** Those that something may have to be learnt of, as of this stamp. */
  #open: { readonly stamp: number; readonly servers: readonly ManagedServer[] } | undefined;
  /** When each server was tried, by what could be asked of whoever had it tried. */
  readonly #triedAt = new WeakMap<ManagedServer, Map<string, number>>();
  readonly #rounds = new Set<Round>();
  /** What ends the waiting of those who wait. */
  readonly #waiting = new Set<() => void>();
  #isClosed = false;

  constructor(servers: DiscoverableServers) {
    this.#servers = servers;
  }

  /** Begins to learn what nobody has ever known; what is known starts nothing. Nobody has to wait for it. */
  learn(client?: ListingClient | undefined): void {
    this.#learn(client, false);
  }

  /** `isForMore`: also what known servers may list besides for this client. */
  #learn(client: ListingClient | undefined, isForMore: boolean): void {
    const candidates = this.#candidates();
    if (candidates.length === 0 || this.#isClosed) return;
    const unknown: ManagedServer[] = [];
    const more: ManagedServer[] = [];
    const again: ManagedServer[] = [];
    const now = performance.now();
    const own = keyOf(client);
    for (const server of candidates) {
      const { isLearnt } = server.cache;
      if (isLearnt && !(isForMore && client !== undefined && server.mayShowMoreTo(client))) continue;
      const key = isLearnt ? own : '';
      const tried = this.#triedAt.get(server) ?? new Map<string, number>();
      const triedAt = tried.get(key);
      if (triedAt !== undefined && now - triedAt < RETRY_MS) continue;
      this.#triedAt.set(server, tried.set(key, now));
      // Whoever has failed before is tried in the background: no list waits for it a second time.
      if (triedAt !== undefined || (!isLearnt && server.lastError !== undefined)) again.push(server);
      else (isLearnt ? more : unknown).push(server);
    }
    if (again.length > 0) void learnAll(again, client);
    this.#begin('', unknown, client);
    this.#begin(own, more, client);
  }

  /**
   * Learns what is not known yet; resolves when it is known or has failed, or after `timeoutMs`, counted for each server
   * from the beginning of its round. Undefined when there is nothing to wait for.
   */
  settle(timeoutMs: number, client?: ListingClient | undefined): Promise<void> | undefined {
    return this.#settle(timeoutMs, performance.now() + timeoutMs, client);
  }

  /** Nobody waits any longer, and nothing is begun. */
  close(): void {
    this.#isClosed = true;
    for (const end of [...this.#waiting]) end();
  }

  #settle(timeoutMs: number, until: number, client: ListingClient | undefined): Promise<void> | undefined {
    this.#learn(client, true);
    if (this.#rounds.size === 0 || this.#isClosed) return undefined;
    const own = keyOf(client);
    const now = performance.now();
    const waits: Promise<void>[] = [];
    for (const { key, startedAt, done } of this.#rounds) {
      if (key !== '' && key !== own) continue;
      const patienceMs = key === '' ? timeoutMs : Math.min(timeoutMs, MORE_MS);
      const leftMs = Math.min(startedAt + patienceMs, until) - now;
      if (leftMs > 0) waits.push(this.#within(leftMs, done));
    }
    // What has become known by then may list more for this client.
    return waits.length === 0
      ? undefined
      : Promise.all(waits).then(() => this.#settle(timeoutMs, until, client));
  }

  #begin(key: string, servers: readonly ManagedServer[], client: ListingClient | undefined): void {
    if (servers.length === 0) return;
    const done = learnAll(servers, client).then(() => {
      this.#rounds.delete(round);
    });
    const round = { key, startedAt: performance.now(), done };
    this.#rounds.add(round);
  }

  /** Resolves with the round, when the time is up, or when nobody is to wait any longer. */
  async #within(ms: number, round: Promise<void>): Promise<void> {
    let end = () => {};
    const cut = new Promise<void>((resolve) => {
      end = resolve;
    });
    const timer = setTimeout(end, ms);
    this.#waiting.add(end);
    await Promise.race([round, cut]);
    this.#waiting.delete(end);
    clearTimeout(timer);
  }

  /** Where all clients are shown the same, what was learnt once is all there is. */
  #candidates(): readonly ManagedServer[] {
    const { stamp } = this.#servers;
    if (this.#open?.stamp !== stamp) {
      const all = [...this.#servers.servers()];
      const servers = all.filter(({ cache, entry }) => !cache.isLearnt || entry.isolation !== 'shared');
      this.#open = { stamp, servers };
    }
    return this.#open.servers;
  }
}

function keyOf(client: ListingClient | undefined): string {
  return client === undefined ? '' : requestable(client.capabilities).join();
}

function learnAll(servers: readonly ManagedServer[], client: ListingClient | undefined): Promise<void> {
  return forEachLimited(AT_A_TIME, servers, (server) => learn(server, client));
}

async function learn(server: ManagedServer, client: ListingClient | undefined): Promise<void> {
  // It is not introduced anew.
  const isRunning = server.isRunning;
  if (client === undefined) await started(server, undefined);
  else await startedFor(server, client);
  if (isRunning && !server.cache.isLearnt) await server.askAgain();
}

function startedFor(server: ManagedServer, client: ListingClient): Promise<void> {
  return client.as(server, async (owner) => {
    // It may have left, while others were started or this one.
    await started(server, owner?.isEnded === true ? undefined : owner);
    if (owner !== undefined && owner.isEnded !== true) await server.admit(owner);
  });
}

/** Resolves when the server runs, or has failed to. The first connection of one that is started is `owner`'s. */
function started(server: ManagedServer, owner: CallOwner | undefined): Promise<void> {
  return new Promise((resolve) => {
    const settleIf = () => {
      // One that does not start at all, having left the catalog meanwhile, must hold up nobody behind it.
      if (server.state === 'starting') return;
      forget();
      resolve();
    };
    const forget = server.onState(settleIf);
    if (!server.isRunning) server.demand(owner);
    settleIf();
  });
}
