// A managed server, of the catalog or of an agent: its traffic (server-traffic.ts), and its lifecycle, which
// its state machine decides (life/). The object outlives the actor that runs the machine: if the actor fails
// because of a bug, the supervisor spawns a new actor, which binds itself to this object.

import type { AnyActorLogic } from 'xstate';
import type { ServerEntry } from '../../../config/catalog/catalog-schema.ts';
import type { ServerState } from '../../../machines/server.ts';
import { Share } from '../../base/bounds/budget.ts';
import { type GatewayError, StoppedError } from '../../base/errors/errors.ts';
import type { StartTime } from '../../base/time/start-time.ts';
import type { Installation } from '../installs/installation.ts';
import type { ServerInstall } from '../installs/server-install.ts';
import type { ServerCache } from './cache/cache.ts';
import type { CallOwner } from './calls/owner.ts';
import type { ServerEras } from './eras/eras.ts';
import { ProbeWaits } from './eras/probe-waits.ts';
import type { Handle } from './handle.ts';
import type { ServerDemand } from './life/server-demand.ts';
import { ServerGate, type ServerGateOptions, type ServerStatus } from './life/server-gate.ts';
import { type ServerActions, ServerLife, type StateListener, serverLogic } from './life/server-life.ts';
import { ServerStart, type StartOptions } from './life/server-start.ts';
import { classKey, extensionsOf, listingCapabilities, TASKS } from './lists/listing-capabilities.ts';
import { everyListKind } from './lists/lists.ts';
import type { ListSet } from './lists/own-lists.ts';
import type { LogLevel, Subscriptions } from './notifications/subscriptions.ts';
import type { UpstreamSubscriptions } from './notifications/upstream-subscriptions.ts';
import { canSend, type Pool } from './pool/pool.ts';
import type { PoolMember } from './pool/pool-member.ts';
import { ServerTraffic, type ServerTrafficOptions } from './server-traffic.ts';
import type { TaskRecords } from './tasks/task-records.ts';

/** A client that requests lists. Clients with equal capabilities form a class, and see equal lists. */
export type ListClient = Pick<CallOwner, 'capabilities' | 'era'>;

export interface ManagedServerOptions
  extends ServerTrafficOptions,
    Pick<StartOptions, 'isWatched'>,
    Pick<ServerGateOptions, 'graceMs'> {}

export class ManagedServer implements ServerStatus {
  readonly id: string;
  readonly entry: ServerEntry;
  /** Accepts the calls, and queues them until the server runs. */
  readonly handle: Handle;
  readonly pool: Pool;
  readonly cache: ServerCache;
  readonly eras: ServerEras;
  /** Limits the requests that wait until probes have found the protocol eras. */
  readonly probeWaits: ProbeWaits;
  readonly tasks: TaskRecords;
  // Shares in the limits over all servers (clients/routing/in-flight-limiter.ts).
  /** Share of the requests in flight, including waiting ones. */
  readonly slots = new Share();
  /** Share of the requests that need only the server's description ("introduction"). */
  readonly introductions = new Share();
  /** Share of the bytes of large requests. */
  readonly largeBytes = new Share();
  /** Number of starts that followed a failure, since the gateway started. */
  restarts = 0;
  /** Time since which the server accepts calls (its gate is open); undefined while it does not. */
  opened: StartTime | undefined;
  lastError: GatewayError | undefined;
  /** Time of the supervisor's next retry, in epoch milliseconds. */
  nextRetryAt: number | undefined;

  readonly #life = new ServerLife();
  readonly #install: ServerInstall | undefined;
  readonly #demand: ServerDemand;
  readonly #start: ServerStart;
  readonly #upstreamSubscriptions: UpstreamSubscriptions;
  readonly #actions: ServerActions;

  constructor(options: ManagedServerOptions) {
    const { id, entry, log, cache, install, graceMs, isWatched } = options;
    const life = this.#life;
    const traffic = new ServerTraffic(options, life, this);
    const { eras, handle, pool, demand, usage, upstreamSubscriptions, listNotices, observer } = traffic;
    const own = { id, entry, log, life, status: this };
    const start = new ServerStart({
      ...{ ...own, eras, handle, pool, demand, upstreamSubscriptions, install, isWatched },
      wake: () => options.wake(),
    });
    const gate = new ServerGate({
      ...{ ...own, eras, handle, pool, usage, listNotices, graceMs },
      subscriberConnections: observer.subscriberConnections,
    });
    this.id = id;
    this.entry = entry;
    this.cache = cache;
    this.#install = install;
    this.eras = eras;
    this.probeWaits = new ProbeWaits(entry.pool.waiting);
    this.tasks = traffic.tasks;
    this.pool = pool;
    this.handle = handle;
    this.#demand = demand;
    this.#start = start;
    this.#upstreamSubscriptions = upstreamSubscriptions;
    this.#actions = { life, start, gate, observer };
  }

  get state(): ServerState {
    return this.#life.state;
  }

  get isRunning(): boolean {
    return this.#life.isRunning;
  }

  /** The pending installation. */
  get installation(): Installation | undefined {
    return this.#install?.current;
  }

  /** Starts the server. Resolves when the server runs, rejects with the failure. */
  start(): Promise<void> {
    return this.#start.start();
  }

  /** Stops the server. Resolves after the cleanup. The next call starts it again. */
  stop(): Promise<void> {
    this.eras.kill();
    return this.#life.stop();
  }

  /**
   * Requests a start, as a queued call does. A server in backoff (delay after a failure), or parked after too
   * many failures, does not start earlier. If no call is queued, `owner` gets the first connection. The start
   * fetches the lists, and therefore continues if `owner` disconnects.
   */
  demand(owner?: CallOwner | undefined): void {
    this.#demand.fetchesLists = true;
    this.#demand.start(owner);
  }

  get subscriptions(): Subscriptions {
    return this.#upstreamSubscriptions.subscriptions;
  }

  /**
   * Subscribes on the modern connection of `owner`. Resolves with the resources that the server agreed to
   * report. Rejects with UnavailableError if the pool is full.
   */
  async listen(owner: CallOwner): Promise<ReadonlySet<string>> {
    // If the server has stopped meanwhile, no connection may be opened (A1, ARCHITECTURE.md).
    const member = this.handle.isOpen ? this.pool.pick(owner, 'modern') : undefined;
    return member === undefined ? new Set() : this.#upstreamSubscriptions.listen(member);
  }

  /** Unsubscribes from resources that have no subscriber left. */
  unsubscribe(orphaned: readonly string[]): void {
    this.#upstreamSubscriptions.unsubscribe(orphaned);
  }

  /** Sets a session's log level, also on open connections. */
  setLevel(owner: CallOwner, level: LogLevel): void {
    this.#upstreamSubscriptions.setLevel(owner, level);
  }

  /** Returns true if the server may have lists for this client that the gateway has not fetched yet. */
  mayShowMoreTo(client: ListClient): boolean {
    const key = this.entry.enabled ? this.#classOf(client) : undefined;
    return key !== undefined && this.cache.lacksListsOf(key);
  }

  /** Returns the lists for this client. `owner` owns its private connection. */
  listsFor(client: ListClient, owner?: CallOwner | undefined): ListSet {
    const { cache } = this;
    if (cache.own.isEmpty) return cache;
    const key = this.#classOf(client);
    if (key === undefined) return cache;
    const own = cache.own.find(owner && this.pool.memberOf(owner), key);
    return own === undefined || everyListKind.every((kind) => own.lists[kind] === cache.lists[kind])
      ? cache
      : own;
  }

  /** Fetches the lists of the client's class, if they are unknown and the server runs. Never rejects. */
  async learnFor(client: ListClient, owner: CallOwner | undefined): Promise<void> {
    const key = this.#classOf(client);
    if (key === undefined || !this.cache.lacksListsOf(key)) return;
    const era = this.eras.serverEraFor(client.era);
    const own = owner && this.pool.memberOf(owner);
    const isUsable = (member: PoolMember) => canSend(member) && member.era === era;
    const member = own ?? (era === 'modern' ? [...this.pool.members].find(isUsable) : undefined);
    if (member === undefined || !isUsable(member)) return;
    const timeoutMs = this.entry.request_timeout_seconds * 1000;
    const capabilities = { extensions: this.#negotiated(client) };
    await this.cache.learnClass(key, { connection: member.connection, timeoutMs, capabilities });
  }

  /**
   * Returns the key of the client's class (listing-capabilities.ts); undefined if all clients receive equal
   * lists.
   */
  #classOf(client: ListClient): string | undefined {
    const { isolation, forward_roots } = this.entry;
    if (this.eras.serverEraFor(client.era) === 'modern') {
      const extensions = this.#negotiated(client);
      const texts = listingCapabilities({ extensions }, 'modern');
      return texts.length === 0 ? undefined : classKey(texts);
    }
    if (isolation === 'shared') return undefined;
    const { roots, ...rest } = client.capabilities;
    return classKey(listingCapabilities(forward_roots && roots !== undefined ? { ...rest, roots } : rest));
  }

  /** Returns the client's extensions that the server supports as well. */
  #negotiated({ capabilities }: ListClient): Readonly<Record<string, unknown>> {
    const declared = extensionsOf(this.cache.descriptionIn('modern')?.capabilities ?? {});
    const both = Object.entries(extensionsOf(capabilities)).filter(
      ([id]) => id !== TASKS && Object.hasOwn(declared, id),
    );
    return Object.fromEntries(both);
  }

  /** Fetches the lists that the server failed to return so far, if it runs. */
  async fetchMissingLists(): Promise<void> {
    const member = [...this.pool.members].find(canSend);
    if (member !== undefined)
      await this.cache.fetchMissing(member.connection, this.entry.request_timeout_seconds * 1000);
  }

  /**
   * Opens a connection for `owner` if the server runs and `owner` has none. Resolves after success or
   * failure.
   */
  async admit(owner: CallOwner): Promise<void> {
    const era = this.eras.serverEraFor(owner.era);
    if (!this.handle.isOpen || era === undefined) return;
    try {
      this.pool.pick(owner, era);
    } catch {
      // The pool is full. The client receives the cached lists.
    }
    await this.pool.memberOf(owner)?.opening;
  }

  /** Releases everything held for a disconnected client: connection, subscriptions, log level, tasks. */
  release(owner: CallOwner): void {
    this.#demand.forget(owner);
    // A queued call would otherwise open a connection for the client.
    this.handle.failWaiting((call) => call.owner === owner, new StoppedError('the client has left'));
    this.#upstreamSubscriptions.release(owner);
    this.tasks.release(owner);
    const releaseConnection = () => {
      this.pool.release(owner);
      this.#start.reconsider();
    };
    const isFetchingLists = this.#demand.fetchesLists && this.state === 'starting' && !this.cache.isLearnt;
    if (isFetchingLists) void this.#life.until((state) => state !== 'starting').then(releaseConnection);
    else releaseConnection();
  }

  onState(listener: StateListener): () => void {
    return this.#life.onState(listener);
  }

  /** Logic and input for the actor that the supervisor spawns. */
  get actor(): { readonly logic: AnyActorLogic; readonly input: { readonly actorContext: unknown } } {
    return { logic: serverLogic, input: { actorContext: this.#actions } };
  }
}
