// Learns the lists of servers that nothing is known of yet, by starting them: a few at a time, each once. A client
// that lists waits for it a short while; what is learnt later is announced by list_changed.
//
// D1  a server that fails, or hangs, costs no list more than the waiting time, and only while its first start lasts.

import type { ManagedServer } from '../server/managed-server.ts';
import type { Owner } from '../server/owner.ts';

const AT_A_TIME = 8;
const RETRY_MS = 10_000;

export class Discovery {
  readonly #servers: () => Iterable<ManagedServer>;
  readonly #triedAt = new WeakMap<ManagedServer, number>();
  #round: Promise<void> | undefined;
  #roundStartedAt = 0;

  constructor(servers: () => Iterable<ManagedServer>) {
    this.#servers = servers;
  }

  /**
   * Resolves when every server is known or has failed, or after `timeoutMs` from the start of the round. What has to be
   * started for `owner` is started as its own where servers are isolated: it will call what it is shown.
   */
  async settle(timeoutMs: number, owner?: Owner | undefined): Promise<void> {
    const unknown: ManagedServer[] = [];
    const again: ManagedServer[] = [];
    const now = performance.now();
    for (const server of this.#servers()) {
      const triedAt = this.#triedAt.get(server);
      if (server.known.isLearnt || (triedAt !== undefined && now - triedAt < RETRY_MS)) continue;
      (triedAt === undefined ? unknown : again).push(server);
      this.#triedAt.set(server, now);
    }
    // Whoever has failed before is tried in the background: no list waits for it a second time.
    if (again.length > 0) void learnAll(again, owner);
    if (unknown.length > 0) {
      const previous = this.#round ?? Promise.resolve();
      this.#roundStartedAt = performance.now();
      const round = Promise.all([previous, learnAll(unknown, owner)]).then(() => {
        if (this.#round === round) this.#round = undefined;
      });
      this.#round = round;
    }
    const leftMs = this.#roundStartedAt + timeoutMs - performance.now();
    if (this.#round === undefined || leftMs <= 0) return;
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([this.#round, new Promise((resolve) => (timer = setTimeout(resolve, leftMs)))]);
    clearTimeout(timer);
  }
}

async function learnAll(servers: readonly ManagedServer[], owner: Owner | undefined): Promise<void> {
  const queue = [...servers];
  const worker = async () => {
    for (let server = queue.shift(); server !== undefined; server = queue.shift()) await learn(server, owner);
  };
  await Promise.all(Array.from({ length: Math.min(AT_A_TIME, queue.length) }, worker));
}

function learn(server: ManagedServer, owner: Owner | undefined): Promise<void> {
  return new Promise((resolve) => {
    const settleIf = () => {
      // One that does not start at all, having left the catalog meanwhile, must hold up nobody behind it.
      if (server.state === 'starting') return;
      forget();
      resolve();
    };
    const forget = server.onState(settleIf);
    server.demand(owner);
    settleIf();
  });
}
