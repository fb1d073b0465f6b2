// Servers under a supervisor of their own. Many children under one parent cost XState time that grows with their number, so
// beyond a few hundred they are spread over buckets of the same machine.

import type { AnyActorRef } from 'xstate';
import type { ServerEntry } from '../../../config/catalog/catalog-schema.ts';
import type { Change } from '../../../machines/child.ts';
import { restartPolicy } from '../../../machines/policy.ts';
import { supervisorMachine } from '../../../machines/supervisor.ts';
import type { SupervisorInput } from '../../../machines/supervisor-setup.ts';
import type { Log } from '../../base/errors/log.ts';
import { guarded } from '../../base/supervision/guarded.ts';
import { supervisorInput } from '../../base/supervision/supervision.ts';
import { steadyNow } from '../../base/time/steady-clock.ts';
import type { ManagedServer } from './managed-server.ts';

export interface ServerSpec {
  readonly id: string;
  readonly entry: ServerEntry;
  /** Hash of the entry. */
  readonly hash: string;
  /** Asks the supervisor to start the actor, also during a backoff or park. */
  readonly wake: () => void;
  /** The server of the same id that this one replaces. */
  readonly previous: ManagedServer | undefined;
}

export interface SupervisedServersOptions {
  /** Of the supervisor, in the actor system. */
  readonly name: string;
  readonly log: Log;
  /** Finds the supervisor, which runs from the start on. */
  readonly life: { find(name: string): AnyActorRef | undefined };
  /** Hashes of the entries in use, by server; removed servers are not in it. */
  readonly entryHashes: Map<ManagedServer, string>;
  make(spec: ServerSpec): ManagedServer;
  /** How long a server may take to end after it was asked to, in milliseconds. */
  readonly shutdownMs: number;
}

export interface SupervisedServer {
  readonly server: ManagedServer;
  readonly key: string;
  readonly hash: string;
  readonly bucket: number;
}

const BUCKET_SIZE = 200;

export class SupervisedServers {
  readonly name: string;
  readonly #options: SupervisedServersOptions;
  /** By key; those that are on their way out included. */
  readonly #byKey = new Map<string, ManagedServer>();
  readonly #whenEnded = new Map<string, () => void>();
  #count = 0;
  /** How many are in each bucket. */
  readonly #sizes: number[] = [];

  constructor(options: SupervisedServersOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** Input of the supervisor under which everything hangs; the gateway's root actor spawns it. */
  supervisorInput(path: string = this.name): SupervisorInput {
    return supervisorInput(path, (change) => this.#onChange(change));
  }

  /** Those that are on their way out included. */
  everyone(): Iterable<ManagedServer> {
    return this.#byKey.values();
  }

  /** Makes a server, and its actor where it is enabled. `previous` is the one of the same id that it replaces. */
  place(id: string, entry: ServerEntry, hash: string, previous?: ManagedServer): SupervisedServer {
    const number = this.#count++;
    const key = previous === undefined && !this.#byKey.has(id) ? id : `${id}~${number}`;
    const bucket = this.#roomyBucket();
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

  /** Ends a server; `successor` is given its waiting calls. What `onLeft` gives is called once it has ended. */
  remove(
    { server, key, bucket }: SupervisedServer,
    successor?: ManagedServer,
    onLeft?: () => () => void,
  ): void {
    this.#options.entryHashes.delete(server);
    if (successor === undefined) server.eras.kill();
    server.handle.retire(successor?.handle);
    const onEnded = onLeft?.();
    const ended = () => {
      this.#byKey.delete(key);
      this.#sizes[bucket] = (this.#sizes[bucket] ?? 1) - 1;
      server.cache.close();
      onEnded?.();
    };
    if (!server.entry.enabled) {
      ended();
      return;
    }
    this.#whenEnded.set(key, ended);
    this.#supervisor(bucket)?.send({ type: 'child.stop', key });
  }

  /** A bucket with room for one more, which takes it. */
  #roomyBucket(): number {
    const found = this.#sizes.findIndex((size) => size < BUCKET_SIZE);
    const bucket = found === -1 ? this.#sizes.length : found;
    this.#sizes[bucket] = (this.#sizes[bucket] ?? 0) + 1;
    if (bucket > 0 && this.#supervisor(bucket) === undefined) {
      const spec = {
        key: bucketKey(bucket),
        logic: guarded(supervisorMachine),
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

  /** The first children hang under the supervisor itself. */
  #nameOf(bucket: number): string {
    return bucket === 0 ? this.name : `${this.name}/${bucketKey(bucket)}`;
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

/** With a space, so that it is no server's: no id has one. */
function bucketKey(bucket: number): string {
  return `bucket ${bucket}`;
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
