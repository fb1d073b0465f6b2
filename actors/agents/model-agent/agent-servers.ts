// The servers that agents bring along, run as those of the catalog are, under a supervisor of their own: started when a run needs
// them, stopped when idle, started again after a failure, and seen by nobody else. Their ids have a slash, so that none is one
// of the catalog.
//
// HID1       an agent has one server for each distinct entry. A changed entry is another server beside the old one, which stays for the
//           runs that began with it: they go on with what they began with, and so do those of an older definition after a restart.
// HID2       one that no loaded agent and no run wants is ended.
// HID3 (A8)  there are at most MAX_SERVERS, and none agent has all of them (A6). One that no run uses makes room for one that is
//           needed; who finds none is refused.

import type { ServerEntry } from '../../../config/catalog/catalog-schema.ts';
import { entryHash } from '../../../config/catalog/entry-hash.ts';
import type { AgentServer } from '../../../config/resources/agents/model-runtime.ts';
import { supervisorMachine } from '../../../machines/supervisor.ts';
import { Budget, Share } from '../../base/bounds/budget.ts';
import { OverloadedError, StoppedError, UnsentError } from '../../base/errors/errors.ts';
import { guarded } from '../../base/supervision/guarded.ts';
import { drainSupervisor } from '../../base/supervision/supervision.ts';
import type { Life } from '../../gateway/life.ts';
import { loadToolFilters } from '../../mcp/clients/aggregate/tool-filter.ts';
import type { ManagedServer } from '../../mcp/servers/managed-server.ts';
import type { SupervisedServer, SupervisedServers } from '../../mcp/servers/supervised-servers.ts';

/** Of all agents together; each is a process, or a session at a remote server, while it is in use. */
const MAX_SERVERS = 500;

/** The use of a server by one run. */
export interface ServerLease {
  /** Resolves once what is known of it has been read. Rejects with UnsentError when the gateway stops. */
  server(): Promise<ManagedServer>;
  /** The run does not need it any more; to be called once. */
  release(): void;
}

interface Owned {
  readonly agent: string;
  readonly supervised: SupervisedServer;
  readonly ready: Promise<unknown>;
  users: number;
}

/** The gateway, as far as this needs it. */
export interface AgentServersHost {
  readonly agentServers: SupervisedServers;
  readonly life: Pick<Life, 'find' | 'spawn'>;
}

export class AgentServers {
  readonly #host: AgentServersHost;
  /** By agent, name and hash of the entry; those that have been without a user longest come first. */
  readonly #owned = new Map<string, Owned>();
  /** The same keys, of the agents that are loaded. */
  #wanted: ReadonlySet<string> = new Set();
  /** One hash per loaded entry: each run leases the same objects again. */
  readonly #hashes = new WeakMap<ServerEntry, string>();
  readonly #places: Budget;
  readonly #shares = new Map<string, Share>();
  #isClosed = false;

  constructor(host: AgentServersHost, maxServers = MAX_SERVERS) {
    this.#host = host;
    this.#places = new Budget(maxServers);
  }

  /** These agents are loaded, and no others: their servers stay. They come with the first run that needs them. */
  want(agents: readonly { readonly name: string; readonly servers: readonly AgentServer[] }[]): void {
    const keys = agents.flatMap(({ name: agent, servers }) =>
      servers.flatMap(({ name, entry }) =>
        entry === undefined ? [] : keyOf(agent, name, this.#hashOf(entry)),
      ),
    );
    this.#wanted = new Set(keys);
    for (const [key, owned] of [...this.#owned]) this.#endUnwanted(key, owned);
  }

  /** Throws UnsentError when there is no room for one more. */
  lease(agent: string, name: string, entry: ServerEntry): ServerLease {
    this.#checkOpen();
    const hash = this.#hashOf(entry);
    const key = keyOf(agent, name, hash);
    const owned = this.#owned.get(key) ?? this.#begin(key, agent, name, entry, hash);
    owned.users += 1;
    let isReleased = false;
    return {
      server: async () => {
        await owned.ready;
        this.#checkOpen();
        return owned.supervised.server;
      },
      release: () => {
        if (isReleased) return;
        isReleased = true;
        this.#release(key, owned);
      },
    };
  }

  /** Nobody is given a server any more, and those there are begin to end: whoever drains the gateway's waits for them. */
  close(): void {
    this.#isClosed = true;
    const { agentServers, life } = this.#host;
    void drainSupervisor(life.find(agentServers.name));
  }

  #hashOf(entry: ServerEntry): string {
    const hash = this.#hashes.get(entry) ?? entryHash(entry);
    this.#hashes.set(entry, hash);
    return hash;
  }

  /** Nobody would start them any more: a call would wait for its deadline. */
  #checkOpen(): void {
    if (this.#isClosed) throw new UnsentError(new StoppedError('the gateway is stopping'));
  }

  #begin(key: string, agent: string, name: string, entry: ServerEntry, hash: string): Owned {
    const share = this.#shares.get(agent) ?? new Share();
    if (!this.#takePlace(agent, share)) throw this.#full(agent, share);
    this.#shares.set(agent, share);
    const { agentServers, life } = this.#host;
    // Here, so that a gateway without them has no supervisor of them; where there is one, nothing.
    const logic = guarded(supervisorMachine);
    life.spawn(agentServers.name, logic, agentServers.supervisorInput());
    const supervised = agentServers.place(`${agent}/${name}`, entry, hash);
    const ready = Promise.all([loadToolFilters([entry.tools]), supervised.server.cache.load()]);
    const owned = { agent, supervised, ready, users: 0 };
    this.#owned.set(key, owned);
    return owned;
  }

  #release(key: string, owned: Owned): void {
    owned.users -= 1;
    if (owned.users > 0 || this.#isClosed) return;
    // Behind the others that have none.
    this.#owned.delete(key);
    this.#owned.set(key, owned);
    this.#endUnwanted(key, owned);
  }

  #endUnwanted(key: string, owned: Owned): void {
    if (owned.users === 0 && !this.#wanted.has(key)) this.#end(key, owned);
  }

  /** Takes a place; where there is none, of servers that no run uses. False, and nothing has ended, where that does not help. */
  #takePlace(agent: string, share: Share): boolean {
    const unused = [...this.#owned].filter(([, { users }]) => users === 0);
    const ownUnused = unused.filter(([, owned]) => owned.agent === agent).length;
    if (share.held - ownUnused + 1 > this.#places.free + unused.length) return false;
    while (!this.#places.take(1, share)) {
      const [key, owned] = unused.shift() ?? [];
      if (key === undefined || owned === undefined) return false;
      this.#end(key, owned);
    }
    return true;
  }

  #end(key: string, { agent, supervised }: Owned): void {
    this.#owned.delete(key);
    this.#host.agentServers.remove(supervised);
    const share = this.#shares.get(agent);
    if (share === undefined) return;
    this.#places.give(1, share);
    if (share.held === 0) this.#shares.delete(agent);
  }

  #full(agent: string, { held }: Share): UnsentError {
    const { free, total } = this.#places;
    const those =
      free === 0 ? '' : `, agent ${agent} has ${held} of them, and the ${free} that are free are for others`;
    return new UnsentError(
      new OverloadedError(
        `runs use the servers of agents, of which there are at most ${total}${those}; try again later`,
      ),
    );
  }
}

/** No name has a space. */
function keyOf(agent: string, name: string, hash: string): string {
  return `${agent} ${name} ${hash}`;
}
