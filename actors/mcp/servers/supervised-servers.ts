// Servers under one supervisor, which starts their actors and restarts failed ones. An XState parent copies
// the list of its children at each event. Therefore the servers are distributed over buckets: child
// supervisors with the same machine.

import type { AnyActorRef } from 'xstate';
import type { ServerEntry } from '../../../config/catalog/catalog-schema.ts';
import type { ChildChange } from '../../../machines/child.ts';
import { restartPolicy } from '../../../machines/policy.ts';
import { supervisorMachine } from '../../../machines/supervisor.ts';
import type { SupervisorInput } from '../../../machines/supervisor-setup.ts';
import type { Log } from '../../base/errors/log.ts';
import { stopChildrenOnThrow } from '../../base/supervision/stop-children-on-throw.ts';
import { supervisorInput } from '../../base/supervision/supervision.ts';
import { monotonicNow } from '../../base/time/monotonic-clock.ts';
import type { ManagedServer } from './managed-server.ts';

export interface ServerSpec {
  readonly id: string;
  readonly entry: ServerEntry;
  /** Hash of the entry. */
  readonly hash: string;
  /** Asks the supervisor to start the server now, even in a backoff or while parked after failures. */
  readonly wake: () => void;
  /** Replaced server; it has the same id. */
  readonly previous: ManagedServer | undefined;
}

export interface SupervisedServersOptions {
  /** Name of the supervisor in the actor system. */
  readonly name: string;
  readonly log: Log;
  /** Looks up the supervisor, which runs for the lifetime of the gateway. */
  readonly life: { find(name: string): AnyActorRef | undefined };
  /**
   * Hash of the catalog entry per server, without removed servers. The cache files of these entries are kept.
   */
  readonly entryHashes: Map<ManagedServer, string>;
  make(spec: ServerSpec): ManagedServer;
  /** Time limit for stopping a server, in milliseconds. */
  readonly shutdownMs: number;
}

export interface SupervisedServer {
  readonly server: ManagedServer;
  readonly key: string;
  readonly hash: string;
  readonly bucket: number;
}

const BUCKET_SIZE = 50;

export class SupervisedServers {
  readonly name: string;
  readonly #options: SupervisedServersOptions;
  /** Servers by supervisor key, including stopping servers. */
  readonly #byKey = new Map<string, ManagedServer>();
  /** Cleanup of removed servers by supervisor key, called when their actor has stopped. */
  readonly #whenEnded = new Map<string, () => void>();
  #count = 0;
  /** Number of servers per bucket. */
  readonly #sizes: number[] = [];

  constructor(options: SupervisedServersOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** Returns the input of the top supervisor, which the gateway's root actor spawns. */
  supervisorInput(path: string = this.name): SupervisorInput {
    return supervisorInput(path, (change) => this.#onChange(change));
  }

  /** All servers, including stopping servers. */
  everyone(): Iterable<ManagedServer> {
    return this.#byKey.values();
  }

  /**
   * Creates a server and, if enabled, its actor. `previous` is the replaced server, with the same id.
   */
  add(id: string, entry: ServerEntry, hash: string, previous?: ManagedServer): SupervisedServer {
    const number = this.#count++;
    // The key is unique, because an earlier server with the same id may still be stopping.
    const key = previous === undefined && !this.#byKey.has(id) ? id : `${id}~${number}`;
    const bucket = this.#reserveSlot();
    const wake = () => this.#supervisor(bucket)?.send({ type: 'child.wake', key });
    const server = this.#options.make({ id, entry, hash, wake, previous });
    this.#byKey.set(key, server);
    this.#options.entryHashes.set(server, hash);
    if (entry.enabled) {
      const spec = {
        key,
        ...server.actor,
        policy: restartPolicy(entry.restart),
        shutdownMs: this.#options.shutdownMs,
      };
      this.#supervisor(bucket)?.send({ type: 'child.start', spec });
    }
    return { server, key, hash, bucket };
  }

  /**
   * Stops a server. `successor` receives the queued calls. The function returned by `onRemoved` runs after
   * the stop.
   */
  remove(
    { server, key, bucket }: SupervisedServer,
    successor?: ManagedServer,
    onRemoved?: () => () => void,
  ): void {
    this.#options.entryHashes.delete(server);
    if (successor === undefined) server.eras.kill();
    server.handle.retire(successor?.handle);
    const onEnded = onRemoved?.();
    const onStopped = () => {
      this.#byKey.delete(key);
      this.#sizes[bucket] = (this.#sizes[bucket] ?? 1) - 1;
      server.cache.close();
      onEnded?.();
    };
    if (!server.entry.enabled) {
      onStopped();
      return;
    }
    this.#whenEnded.set(key, onStopped);
    this.#supervisor(bucket)?.send({ type: 'child.stop', key });
  }

  /** Reserves a slot in a bucket and returns the bucket. Creates the bucket if necessary. */
  #reserveSlot(): number {
    const index = this.#sizes.findIndex((size) => size < BUCKET_SIZE);
    const bucket = index === -1 ? this.#sizes.length : index;
    this.#sizes[bucket] = (this.#sizes[bucket] ?? 0) + 1;
    if (bucket > 0 && this.#supervisor(bucket) === undefined) {
      const spec = {
        key: bucketKey(bucket),
        logic: stopChildrenOnThrow(supervisorMachine),
        input: { ...this.supervisorInput(this.#nameOf(bucket)) },
        policy: bucketPolicy,
        shutdownMs: this.#options.shutdownMs,
      };
      this.#supervisor(0)?.send({ type: 'child.start', spec });
    }
    return bucket;
  }

  #supervisor(bucket: number): AnyActorRef | undefined {
    return this.#options.life.find(this.#nameOf(bucket));
  }

  /** Bucket 0 is the supervisor itself. */
  #nameOf(bucket: number): string {
    return bucket === 0 ? this.name : `${this.name}/${bucketKey(bucket)}`;
  }

  #onChange(change: ChildChange): void {
    const server = this.#byKey.get(change.key);
    if (server === undefined) return;
    const { log } = this.#options;
    switch (change.what) {
      case 'restarting':
        server.nextRetryAt = Date.now() + (change.inMs ?? 0);
        log.warn(
          { server: server.id, in_ms: change.inMs, restarts_in_period: change.restarts },
          'server backoff before the next start',
        );
        break;
      case 'parked':
        // `until` is monotonic; converted to wall-clock time for display.
        server.nextRetryAt = Date.now() + (change.until ?? 0) - monotonicNow();
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
        if (change.wasCutOff)
          log.error({ server: server.id }, 'server did not stop in time and was terminated');
        this.#whenEnded.get(change.key)?.();
        this.#whenEnded.delete(change.key);
        break;
      default:
    }
  }
}

/** Returns the key of a bucket. Server ids contain no space, so no server has the same key. */
function bucketKey(bucket: number): string {
  return `bucket ${bucket}`;
}

/** A bucket fails only because of a bug, and its servers are lost, so the failure escalates to the root. */
const bucketPolicy = {
  restart: 'permanent',
  intensity: 0,
  periodMs: 60_000,
  onLimit: 'escalate',
  parkMs: 0,
  backoff: { minMs: 100, maxMs: 1000, jitter: 0 },
} as const;
