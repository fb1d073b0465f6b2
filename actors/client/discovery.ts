// Learns the lists of servers by starting them: of those that nothing is known of yet, and of those that may list more
// for whoever asks than they have so far. A few at a time, each once. A client that lists waits for it a short while;
// what is learnt later is announced by list_changed.
//
// D1  a server that fails, or hangs, costs no list more than the waiting time, and only while its first start lasts.

import { askable } from '../server/connection.ts';
import type { ManagedServer } from '../server/managed-server.ts';
import type { Owner } from '../server/owner.ts';

export interface Roster {
  servers(): Iterable<ManagedServer>;
  /** Another one as soon as the servers, or what is known of one, may have changed. */
  readonly stamp: number;
}

/** Who wants to see the lists. Where servers are isolated it sees what they list on a connection of its own. */
export interface Guest extends Pick<Owner, 'capabilities' | 'era'> {
  /** Has the server visited in the guest's name, for as long as `visit` takes. */
  as(server: ManagedServer, visit: (owner: Owner | undefined) => Promise<void>): Promise<void>;
}

const AT_A_TIME = 8;
const RETRY_MS = 10_000;

export class Discovery {
  readonly #roster: Roster;
  /** Those that something may have to be learnt of, as of this stamp. */
  #open: { readonly stamp: number; readonly servers: readonly ManagedServer[] } | undefined;
  /** When each server was tried, by what could be asked of whoever had it tried. */
  readonly #triedAt = new WeakMap<ManagedServer, Map<string, number>>();
  #round: Promise<void> | undefined;
  #roundStartedAt = 0;

  constructor(roster: Roster) {
    this.#roster = roster;
  }

  /**
   * Resolves when every server is known or has failed, or after `timeoutMs` from the start of the round; undefined when
   * there is nothing to wait for.
   */
  settle(timeoutMs: number, guest?: Guest | undefined): Promise<void> | undefined {
    const unknown: ManagedServer[] = [];
    const again: ManagedServer[] = [];
    const now = performance.now();
    for (const server of this.#candidates()) {
      const isPartial = guest !== undefined && server.mayShowMoreTo(guest);
      if (server.known.isLearnt && !isPartial) continue;
      const key = isPartial ? askable(guest.capabilities).join() : '';
      const tried = this.#triedAt.get(server) ?? new Map<string, number>();
      const triedAt = tried.get(key);
      if (triedAt !== undefined && now - triedAt < RETRY_MS) continue;
      (triedAt === undefined ? unknown : again).push(server);
      this.#triedAt.set(server, tried.set(key, now));
    }
    // Whoever has failed before is tried in the background: no list waits for it a second time.
    if (again.length > 0) void learnAll(again, guest);
    if (unknown.length > 0) {
      const previous = this.#round ?? Promise.resolve();
      this.#roundStartedAt = performance.now();
      const round = Promise.all([previous, learnAll(unknown, guest)]).then(() => {
        if (this.#round === round) this.#round = undefined;
      });
      this.#round = round;
    }
    const leftMs = this.#roundStartedAt + timeoutMs - performance.now();
    return this.#round === undefined || leftMs <= 0 ? undefined : within(leftMs, this.#round);
  }

  /** Where all clients are shown the same, what was learnt once is all there is. */
  #candidates(): readonly ManagedServer[] {
    const { stamp } = this.#roster;
    if (this.#open?.stamp !== stamp) {
      const all = [...this.#roster.servers()];
      const servers = all.filter(({ known, entry }) => !known.isLearnt || entry.isolation !== 'shared');
      this.#open = { stamp, servers };
    }
    return this.#open.servers;
  }
}

/** Resolves with the round, or when the time is up. */
async function within(ms: number, round: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([round, new Promise((resolve) => (timer = setTimeout(resolve, ms)))]);
  clearTimeout(timer);
}

async function learnAll(servers: readonly ManagedServer[], guest: Guest | undefined): Promise<void> {
  const queue = [...servers];
  const worker = async () => {
    for (let server = queue.shift(); server !== undefined; server = queue.shift()) await learn(server, guest);
  };
  await Promise.all(Array.from({ length: Math.min(AT_A_TIME, queue.length) }, worker));
}

function learn(server: ManagedServer, guest: Guest | undefined): Promise<void> {
  if (guest === undefined) return started(server, undefined);
  return guest.as(server, async (owner) => {
    await started(server, owner);
    if (owner !== undefined) await server.admit(owner);
  });
}

/** Resolves when the server runs, or has failed to. The first connection of one that is started is `owner`'s. */
function started(server: ManagedServer, owner: Owner | undefined): Promise<void> {
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
