// One server of the catalog: its traffic (server-traffic.ts), and its life as its machine decides it (life/). It outlives its
// actor: after a bug the supervisor spawns a new one, which binds itself here.

import type { AnyActorLogic } from 'xstate';
import type { ServerEntry } from '../../../config/catalog/catalog-schema.ts';
import type { ServerState } from '../../../machines/server.ts';
import { Share } from '../../base/bounds/budget.ts';
import { type GatewayError, StoppedError } from '../../base/errors/errors.ts';
import type { StartTime } from '../../base/time/start-time.ts';
import type { ServerCache } from './cache/server-cache.ts';
import type { CallOwner } from './calls/call-owner.ts';
import type { ServerEras } from './eras/eras.ts';
import type { Handle } from './handle.ts';
import type { ServerDemand } from './life/server-demand.ts';
import { type GateOptions, ServerGate, type ServerNotes } from './life/server-gate.ts';
import { type ServerActions, ServerLife, type StateListener, serverLogic } from './life/server-life.ts';
import { ServerStart, type StartOptions } from './life/server-start.ts';
import { requestable } from './notifications/server-request.ts';
import type { LogLevel, Subscriptions } from './notifications/subscriptions.ts';
import type { UpstreamSubscriptions } from './notifications/upstream-subscriptions.ts';
import { canTake, type Pool } from './pool/pool.ts';
import { ServerTraffic, type ServerTrafficOptions } from './server-traffic.ts';
import type { TaskRecords } from './tasks/task-records.ts';

export interface ManagedServerOptions
  extends ServerTrafficOptions,
    Pick<StartOptions, 'isWatched'>,
    Pick<GateOptions, 'graceMs'> {}

export class ManagedServer implements ServerNotes {
  readonly id: string;
  readonly entry: ServerEntry;
  readonly handle: Handle;
  readonly pool: Pool;
  readonly cache: ServerCache;
  readonly eras: ServerEras;
  readonly tasks: TaskRecords;
  // Its shares of what is limited over all servers (client/routing/in-flight-limiter.ts).
  /** The share for requests of clients that are sent to it or wait for it. */
  readonly places = new Share();
  /** The share for requests that only wait for its description. */
  readonly introductions = new Share();
  /** The share for the bytes of large requests. */
  readonly largeBytes = new Share();
  /** Starts after a failure since the gateway has started. */
  restarts = 0;
  /** When the gate was last opened; undefined while it is shut. */
  opened: StartTime | undefined;
  lastError: GatewayError | undefined;
  /** When the supervisor tries again, in epoch milliseconds. */
  nextRetryAt: number | undefined;

  readonly #life = new ServerLife();
  readonly #demand: ServerDemand;
  readonly #start: ServerStart;
  readonly #upstreamSubscriptions: UpstreamSubscriptions;
  readonly #actions: ServerActions;

  constructor(options: ManagedServerOptions) {
    const { id, entry, log, cache, graceMs, isWatched } = options;
    const life = this.#life;
    const traffic = new ServerTraffic(options, life, this);
    const { eras, handle, pool, demand, usage, upstreamSubscriptions, listNotices, observer } = traffic;
    const own = { id, entry, log, life, notes: this };
    const start = new ServerStart({
      ...{ ...own, eras, handle, pool, demand, upstreamSubscriptions, isWatched },
      wake: () => options.wake(),
    });
    const gate = new ServerGate({
      ...{ ...own, eras, handle, pool, usage, listNotices, graceMs },
      subscriberConnections: observer.subscriberConnections,
    });
    this.id = id;
    this.entry = entry;
    this.cache = cache;
    this.eras = eras;
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

  /** Starts the server; resolves once it runs. Rejects with the reason it could not. */
  start(): Promise<void> {
    return this.#start.start();
  }

  /** Stops the server; resolves once nothing of it is left. A later request starts it again. */
  stop(): Promise<void> {
    this.eras.kill();
    return this.#life.stop();
  }

  /**
   * Asks for a start as a waiting call would: a backoff or park that is not over keeps the server off. Where no call
   * waits, the first connection is `owner`'s. It is for the lists: the start goes on when `owner` leaves.
   */
  demand(owner?: CallOwner | undefined): void {
    this.#demand.isToLearn = true;
    this.#demand.start(owner);
  }

  get subscriptions(): Subscriptions {
    return this.#upstreamSubscriptions.subscriptions;
  }

  /**
   * The modern connection that serves `owner` is to tell of what is subscribed by now; resolves with the resources it
   * agreed to tell of. Rejects with UnavailableError when there is no place for one.
   */
  async listen(owner: CallOwner): Promise<ReadonlySet<string>> {
    // A1: the server may have ended since it was last asked, and then no connection is to be opened.
    const member = this.handle.isOpen ? this.pool.pick(owner, 'modern') : undefined;
    return member === undefined ? new Set() : this.#upstreamSubscriptions.listen(member);
  }

  /** A client has unsubscribed; nobody is subscribed to `orphaned` any more. */
  unsubscribed(orphaned: readonly string[]): void {
    this.#upstreamSubscriptions.unsubscribed(orphaned);
  }

  /** Notes the log level that a session asks for, and sets it on the connections that are open. */
  setLevel(owner: CallOwner, level: LogLevel): void {
    this.#upstreamSubscriptions.setLevel(owner, level);
  }

  /** Whether the server may list more on a connection of `owner`'s own than is known so far. */
  mayShowMoreTo(client: Pick<CallOwner, 'capabilities' | 'era'>): boolean {
    const { isolation, enabled, forward_roots } = this.entry;
    if (isolation === 'shared' || !enabled || this.eras.for(client.era) !== 'legacy') return false;
    const offered = requestable(client.capabilities).filter((name) => name !== 'roots' || forward_roots);
    return this.cache.mayLearnMoreFrom({ era: 'legacy', offered });
  }

  /** Asks for the lists that the server could not give when it was initialised, if it runs. */
  async askAgain(): Promise<void> {
    const member = [...this.pool.members].find(canTake);
    if (member !== undefined)
      await this.cache.askAgain(member.connection, this.entry.request_timeout_seconds * 1000);
  }

  /** Opens a connection of `owner`'s own where it has none, if the server runs; resolves when that is open or failed. */
  async admit(owner: CallOwner): Promise<void> {
    const era = this.eras.for(owner.era);
    if (!this.handle.isOpen || era === undefined) return;
    try {
      this.pool.pick(owner, era);
    } catch {
      // Every place is taken: the server stays as it is known.
    }
    await this.pool.memberOf(owner)?.opening;
  }

  /** A client session has ended: its connection, subscriptions and log level are removed. */
  release(owner: CallOwner): void {
    this.#demand.forget(owner);
    // A call that still waits for it would have a connection opened for nobody.
    this.handle.failWaiting((call) => call.owner === owner, new StoppedError('the client has left'));
    this.#upstreamSubscriptions.release(owner);
    this.tasks.release(owner);
    const letGo = () => {
      this.pool.release(owner);
      this.#start.reconsider();
    };
    const isLearning = this.#demand.isToLearn && this.state === 'starting' && !this.cache.isLearnt;
    if (isLearning) void this.#life.until((state) => state !== 'starting').then(letGo);
    else letGo();
  }

  onState(listener: StateListener): () => void {
    return this.#life.onState(listener);
  }

  /** What this server's actor is spawned with, by its supervisor. */
  get actor(): { readonly logic: AnyActorLogic; readonly input: { readonly bearer: unknown } } {
    return { logic: serverLogic, input: { bearer: this.#actions } };
  }
}
