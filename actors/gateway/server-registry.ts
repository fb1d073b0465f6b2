// The registry of servers, and the supervisors that keep their actors. Many children under one parent cost XState time
// that grows with their number, so beyond a few hundred they are spread over buckets of the same machine.
//
// SR1  every enabled server has exactly one supervised actor, asleep or not.
// SR2  a changed server is a new one beside the old: the old takes no more calls, finishes those it has, and ends.

import type { AnyActorRef } from 'xstate';
import type { Catalog, ServerEntry } from '../../config/catalog/catalog-schema.ts';
import { entryHash } from '../../config/catalog/entry-hash.ts';
import type { Change } from '../../machines/child.ts';
import { restartPolicy } from '../../machines/policy.ts';
import { type SupervisorInput, supervisorMachine } from '../../machines/supervisor.ts';
import { guarded } from '../guarded.ts';
import type { Log } from '../log.ts';
import type { ManagedServer } from '../server/managed-server.ts';
import { steadyNow } from '../steady-clock.ts';
import { supervisorInput } from '../supervision.ts';

/** Ids by what a reload did with them. */
export interface CatalogDifference {
  readonly added: string[];
  readonly changed: string[];
  readonly removed: string[];
  readonly unchanged: string[];
}

export interface ServerRegistryOptions {
  readonly log: Log;
  /** Makes the server; `hash` is that of its entry. */
  make(
    id: string,
    entry: ServerEntry,
    hash: string,
    wake: () => void,
    previous: ManagedServer | undefined,
  ): ManagedServer;
  /** How long a server may take to end after it was asked to, in milliseconds. */
  readonly shutdownMs: number;
  /** A server has left the catalog. What this gives is called once it has ended; there may be another of its id by then. */
  onLeft(server: ManagedServer): () => void;
}

interface Placed {
  readonly server: ManagedServer;
  readonly key: string;
  readonly hash: string;
  readonly supervisor: () => AnyActorRef | undefined;
}

const BUCKET_SIZE = 200;
export const SERVERS = 'servers';

export class ServerRegistry {
  readonly #options: ServerRegistryOptions;
  readonly #placed = new Map<string, Placed>();
  /** By key; those that are on their way out included. */
  readonly #byKey = new Map<string, ManagedServer>();
  readonly #whenEnded = new Map<string, () => void>();
  #system: AnyActorRef['system'] | undefined;
  #count = 0;
  #order: ManagedServer[] = [];

  constructor(options: ServerRegistryOptions) {
    this.#options = options;
  }

  /** Input of the supervisor under which everything hangs; the gateway's root actor spawns it. */
  supervisorInput(path: string = SERVERS): SupervisorInput {
    return supervisorInput(path, (change) => this.#onChange(change));
  }

  /** Takes the supervisors of this actor system into use. */
  attach(system: AnyActorRef['system']): void {
    this.#system = system;
  }

  get(id: string): ManagedServer | undefined {
    return this.#placed.get(id)?.server;
  }

  /** In the order of the catalog. */
  all(): readonly ManagedServer[] {
    return this.#order;
  }

  /** Of the entries of the catalog. */
  hashes(): ReadonlySet<string> {
    return new Set([...this.#placed.values()].map(({ hash }) => hash));
  }

  /** Those that are on their way out included. */
  everyone(): Iterable<ManagedServer> {
    return this.#byKey.values();
  }

  /** Makes the registry what the catalog says, touching only what differs. */
  apply(catalog: Catalog): CatalogDifference {
    const difference: CatalogDifference = { added: [], changed: [], removed: [], unchanged: [] };
    for (const [id, placed] of [...this.#placed]) {
      if (catalog.servers[id] !== undefined) continue;
      difference.removed.push(id);
      this.#remove(id, placed, false);
    }
    for (const [id, entry] of Object.entries(catalog.servers)) {
      const hash = entryHash(entry);
      const placed = this.#placed.get(id);
      if (placed?.hash === hash) {
        difference.unchanged.push(id);
        continue;
      }
      difference[placed === undefined ? 'added' : 'changed'].push(id);
      this.#place(id, entry, hash, placed?.server);
      if (placed !== undefined) this.#remove(id, placed, true);
    }
    this.#order = Object.keys(catalog.servers).flatMap((id) => this.get(id) ?? []);
    return difference;
  }

  #place(id: string, entry: ServerEntry, hash: string, previous: ManagedServer | undefined): void {
    const number = this.#count++;
    const key = previous === undefined && !this.#byKey.has(id) ? id : `${id}~${number}`;
    const supervisor = this.#supervisorFor(number);
    const wake = () => supervisor()?.send({ type: 'child.wake', key });
    const server = this.#options.make(id, entry, hash, wake, previous);
    this.#placed.set(id, { server, key, hash, supervisor });
    this.#byKey.set(key, server);
    if (!entry.enabled) return;
    const spec = {
      key,
      ...server.actor,
      policy: restartPolicy(entry.restart),
      shutdownMs: this.#options.shutdownMs,
    };
    supervisor()?.send({ type: 'child.start', spec });
  }

  #remove(id: string, placed: Placed, isReplaced: boolean): void {
    if (!isReplaced) this.#placed.delete(id);
    if (!isReplaced) placed.server.eras.kill();
    placed.server.handle.retire(isReplaced ? this.get(id)?.handle : undefined);
    const onEnded = isReplaced ? undefined : this.#options.onLeft(placed.server);
    const ended = () => {
      this.#byKey.delete(placed.key);
      placed.server.cache.close();
      onEnded?.();
    };
    if (!placed.server.entry.enabled) {
      ended();
      return;
    }
    this.#whenEnded.set(placed.key, ended);
    placed.supervisor()?.send({ type: 'child.stop', key: placed.key });
  }

  /** The first children hang under `servers` itself, the others under its buckets. */
  #supervisorFor(number: number): () => AnyActorRef | undefined {
    const bucket = Math.floor(number / BUCKET_SIZE);
    const find = (name: string) => this.#system?.get(name) as AnyActorRef | undefined;
    if (bucket === 0) return () => find(SERVERS);
    // With a space, so that it is no server's: no id has one.
    const key = `bucket ${bucket}`;
    const name = `${SERVERS}/${key}`;
    if (find(name) === undefined) {
      const spec = {
        key,
        logic: guarded(supervisorMachine),
        input: { ...this.supervisorInput(name) },
        policy: bucketPolicy,
        shutdownMs: this.#options.shutdownMs,
      };
      find(SERVERS)?.send({ type: 'child.start', spec });
    }
    return () => find(name);
  }

  #onChange(change: Change): void {
    const server = this.#byKey.get(change.key);
    if (server === undefined) return;
    const { log } = this.#options;
    switch (change.what) {
      case 'restarting':
        server.nextRetryAt = Date.now() + (change.inMs ?? 0);
        log.warn(
          { server: server.id, in_ms: change.inMs, restarts_in_period: change.restarts },
          'server may start again after a pause',
        );
        break;
      case 'parked':
        // For people, who go by the clock.
        server.nextRetryAt = Date.now() + (change.until ?? 0) - steadyNow();
        log.error(
          {
            server: server.id,
            until: new Date(server.nextRetryAt).toISOString(),
            reason: server.lastError?.message,
          },
          'server parked after too many failures',
        );
        break;
      case 'woken':
        server.nextRetryAt = undefined;
        break;
      case 'stopped':
      case 'ended':
        if (change.wasCutOff) log.error({ server: server.id }, 'server did not end in time and was cut off');
        this.#whenEnded.get(change.key)?.();
        this.#whenEnded.delete(change.key);
        break;
      default:
    }
  }
}

/** A bucket that fails is a bug of the supervisor itself; its servers are lost with it, so the root has to know. */
const bucketPolicy = {
  restart: 'permanent',
  intensity: 0,
  periodMs: 60_000,
  onLimit: 'escalate',
  parkMs: 0,
  backoff: { minMs: 100, maxMs: 1000, jitter: 0 },
} as const;
