// Servers defined in agent files. They run like servers of the catalog, but under a separate supervisor and
// hidden from clients. Their ids contain a slash, so they never equal catalog ids. A changed entry is a new
// server; runs that started with the old entry keep the old server. A server that no loaded agent and no run
// uses is removed. MAX_SERVERS limits the number, and a single agent cannot use all slots. If no slot is
// free, an unused server is removed; if all servers are in use, new runs are rejected.

import type { ServerEntry } from '../../../config/catalog/catalog-schema.ts';
import { entryHash } from '../../../config/catalog/entry-hash.ts';
import type { AgentServer } from '../../../config/resources/agents/model-runtime.ts';
import { supervisorMachine } from '../../../machines/supervisor.ts';
import { Budget, Share } from '../../base/bounds/budget.ts';
import { OverloadedError, StoppedError, UnsentError } from '../../base/errors/errors.ts';
import { stopChildrenOnThrow } from '../../base/supervision/stop-children-on-throw.ts';
import { drainSupervisor } from '../../base/supervision/supervision.ts';
import type { Life } from '../../gateway/life.ts';
import { loadToolFilters } from '../../mcp/clients/aggregate/tool-filter.ts';
import type { ManagedServer } from '../../mcp/servers/managed-server.ts';
import type { SupervisedServer, SupervisedServers } from '../../mcp/servers/supervised-servers.ts';

/** Limit for all agents together; a used server is a process or a remote session. */
const MAX_SERVERS = 500;

/** A run's use of the server. */
export interface ServerLease {
  /**
   * Resolves when the cached description of the server is loaded. Rejects with UnsentError when the gateway
   * stops.
   */
  server(): Promise<ManagedServer>;
  /** Releases the server; must be called once. */
  release(): void;
}

interface AgentServerEntry {
  readonly agent: string;
  readonly server: SupervisedServer;
  readonly ready: Promise<unknown>;
  users: number;
}

/** Required parts of the gateway. */
export interface AgentServersHost {
  readonly agentServers: SupervisedServers;
  readonly life: Pick<Life, 'find' | 'spawn'>;
}

export class AgentServers {
  readonly #host: AgentServersHost;
  /** By agent, name and hash of the entry; the longest unused servers first. */
  readonly #entries = new Map<string, AgentServerEntry>();
  /** Keys of the loaded agents' servers. */
  #loadedKeys: ReadonlySet<string> = new Set();
  /** Caches one hash per loaded entry: all runs lease the same objects. */
  readonly #hashes = new WeakMap<ServerEntry, string>();
  readonly #slots: Budget;
  readonly #shares = new Map<string, Share>();
  #isClosed = false;

  constructor(host: AgentServersHost, maxServers = MAX_SERVERS) {
    this.#host = host;
    this.#slots = new Budget(maxServers);
  }

  /** Sets the loaded agents. Their servers are kept, and start with the first run that needs them. */
  setLoaded(agents: readonly { readonly name: string; readonly servers: readonly AgentServer[] }[]): void {
    const keys = agents.flatMap(({ name: agent, servers }) =>
      servers.flatMap(({ name, entry }) =>
        entry === undefined ? [] : keyOf(agent, name, this.#hashOf(entry)),
      ),
    );
    this.#loadedKeys = new Set(keys);
    for (const [key, serverEntry] of [...this.#entries]) this.#removeIfUnneeded(key, serverEntry);
  }

  /** Leases a server for a run, and adds it if necessary. Throws UnsentError if all slots are in use. */
  lease(agent: string, name: string, entry: ServerEntry): ServerLease {
    this.#checkOpen();
    const hash = this.#hashOf(entry);
    const key = keyOf(agent, name, hash);
    const serverEntry = this.#entries.get(key) ?? this.#add(key, agent, name, entry, hash);
    serverEntry.users += 1;
    let isReleased = false;
    return {
      server: async () => {
        await serverEntry.ready;
        this.#checkOpen();
        return serverEntry.server.server;
      },
      release: () => {
        if (isReleased) return;
        isReleased = true;
        this.#release(key, serverEntry);
      },
    };
  }

  /** Rejects new leases and starts to stop the servers; draining the gateway includes them. */
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

  /** Throws UnsentError after `close`: a call to a stopped server would block until its deadline. */
  #checkOpen(): void {
    if (this.#isClosed) throw new UnsentError(new StoppedError('the gateway is stopping'));
  }

  #add(key: string, agent: string, name: string, entry: ServerEntry, hash: string): AgentServerEntry {
    const share = this.#shares.get(agent) ?? new Share();
    if (!this.#acquireSlot(agent, share)) throw this.#fullError(agent, share);
    this.#shares.set(agent, share);
    const { agentServers, life } = this.#host;
    // The first call spawns the supervisor; later calls have no effect.
    const logic = stopChildrenOnThrow(supervisorMachine);
    life.spawn(agentServers.name, logic, agentServers.supervisorInput());
    const server = agentServers.add(`${agent}/${name}`, entry, hash);
    const ready = Promise.all([loadToolFilters([entry.tools]), server.server.cache.load()]);
    const serverEntry = { agent, server, ready, users: 0 };
    this.#entries.set(key, serverEntry);
    return serverEntry;
  }

  #release(key: string, serverEntry: AgentServerEntry): void {
    serverEntry.users -= 1;
    if (serverEntry.users > 0 || this.#isClosed) return;
    // Moves the server to the end of the unused servers.
    this.#entries.delete(key);
    this.#entries.set(key, serverEntry);
    this.#removeIfUnneeded(key, serverEntry);
  }

  #removeIfUnneeded(key: string, serverEntry: AgentServerEntry): void {
    if (serverEntry.users === 0 && !this.#loadedKeys.has(key)) this.#remove(key, serverEntry);
  }

  /**
   * Acquires a slot and removes unused servers if necessary. Returns false if removing all unused servers
   * would not free a slot; then no server is removed.
   */
  #acquireSlot(agent: string, share: Share): boolean {
    const unused = [...this.#entries].filter(([, { users }]) => users === 0);
    const ownUnused = unused.filter(([, serverEntry]) => serverEntry.agent === agent).length;
    // Budget's rule after the removal of all unused servers: an agent uses at most as many as are free.
    if (share.used - ownUnused + 1 > this.#slots.free + unused.length) return false;
    while (!this.#slots.acquire(1, share)) {
      const [key, serverEntry] = unused.shift() ?? [];
      if (key === undefined || serverEntry === undefined) return false;
      this.#remove(key, serverEntry);
    }
    return true;
  }

  #remove(key: string, { agent, server }: AgentServerEntry): void {
    this.#entries.delete(key);
    this.#host.agentServers.remove(server);
    const share = this.#shares.get(agent);
    if (share === undefined) return;
    this.#slots.release(1, share);
    if (share.used === 0) this.#shares.delete(agent);
  }

  #fullError(agent: string, { used }: Share): UnsentError {
    const { free, total } = this.#slots;
    const detail =
      free === 0
        ? ''
        : `; agent ${agent} uses ${used}, and the ${free} free ones are reserved for other agents`;
    return new UnsentError(
      new OverloadedError(`too many servers of agents are in use (limit ${total}${detail}); try again later`),
    );
  }
}

/** Returns a server's map key; names contain no spaces. */
function keyOf(agent: string, name: string, hash: string): string {
  return `${agent} ${name} ${hash}`;
}
