// One server of the catalog with everything that belongs to it: its parts, and how they hear of each other. It outlives
// its actor: after a bug the supervisor spawns a new one, which binds itself here.
//
//   server-start.ts       how it comes to run            handle.ts   calls on their way in
//   server-gate.ts        what runs while it is open     pool.ts     its connections
//   connection-observer.ts    what becomes of those          eras.ts     which eras it speaks

import type { AnyActorLogic } from 'xstate';
import type { ServerEntry } from '../../../config/catalog/catalog-schema.ts';
import type { ServerEvent, ServerState } from '../../../machines/server.ts';
import { Share } from '../../base/bounds/budget.ts';
import { type GatewayError, StoppedError } from '../../base/errors/errors.ts';
import type { StartTime } from '../../base/time/start-time.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import type { Era } from '../jsonrpc/modern-meta.ts';
import type { Link, LinkEvents } from '../links/link.ts';
import type { ServerCache } from './cache/server-cache.ts';
import { latestSessionVersion } from './cache/server-description.ts';
import type { CallOwner } from './calls/call-owner.ts';
import { ServerEras } from './eras/eras.ts';
import { Handle } from './handle.ts';
import { type GateOptions, ServerGate, type ServerNotes } from './life/server-gate.ts';
import { ServerLife, serverLogic } from './life/server-life.ts';
import { ServerStart, type StartOptions } from './life/server-start.ts';
import { ListNotices } from './lists/list-notices.ts';
import type { ListKind } from './lists/lists.ts';
import { requestable } from './notifications/server-request.ts';
import type { LogLevel, Subscriptions } from './notifications/subscriptions.ts';
import { UnsolicitedMessages } from './notifications/unsolicited-messages.ts';
import { UpstreamSubscriptions } from './notifications/upstream-subscriptions.ts';
import type { Introduction } from './pool/connection.ts';
import { ConnectionObserver } from './pool/connection-observer.ts';
import type { ConnectionSetupOptions } from './pool/connection-setup.ts';
import { ConnectionUsage } from './pool/connection-usage.ts';
import { Pool } from './pool/pool.ts';
import { canTake } from './pool/pool-member.ts';
import { TaskRecords } from './tasks/task-records.ts';

export interface ManagedServerOptions
  extends Pick<StartOptions, 'id' | 'entry' | 'wake' | 'isWatched'>,
    Pick<GateOptions, 'log' | 'graceMs'>,
    Partial<Pick<ConnectionSetupOptions, 'onErrorAnswer'>> {
  readonly cache: ServerCache;
  readonly clientInfo: { readonly name: string; readonly version: string };
  /** The subscriptions of a predecessor, or empty ones. */
  readonly subscriptions: Subscriptions;
  /** Task records of a predecessor at the same url: remote tasks can still be running. */
  readonly tasks?: TaskRecords | undefined;
  makeLink(events: LinkEvents, era: Era): Link;
  /** The server has sent a `notifications/message`, whoever hears of it. */
  onLogMessage?(envelope: Envelope): void;
  /** Lists may have changed: clients of this server alone are to be notified. */
  announce(kinds: readonly ListKind[]): void;
}

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

  readonly #life: ServerLife;
  readonly #start: ServerStart;
  readonly #upstreamSubscriptions: UpstreamSubscriptions;

  constructor(options: ManagedServerOptions) {
    const { id, entry, cache, log, clientInfo, makeLink, graceMs, isWatched } = options;
    const isShared = entry.isolation === 'shared';
    const tasks = options.tasks ?? new TaskRecords(entry.runtime === 'stdio' ? 'process' : 'server');
    const introduction: Introduction = {
      protocolVersion: latestSessionVersion,
      clientInfo,
      capabilities: {},
    };
    const startTimeoutMs = entry.start_timeout_seconds * 1000;
    const eras: ServerEras = new ServerEras({
      server: id,
      setting: entry.era,
      cache,
      introduction,
      startTimeoutMs,
      makeLink,
      untilStartable: () => start.untilStartable(),
      onVerdict: (spoken) => log.info({ server: id, ...spoken }, 'server was asked which eras it speaks'),
    });
    const upstreamSubscriptions: UpstreamSubscriptions = new UpstreamSubscriptions({
      isShared,
      cache,
      pool: () => pool,
      isAt: (owner, member) => usage.isAt(owner, member),
      subscriptions: options.subscriptions,
    });
    const usage: ConnectionUsage = new ConnectionUsage({
      server: id,
      isShared,
      eras,
      tasks,
      subscriptions: upstreamSubscriptions.subscriptions,
      pool: () => pool,
      handle: () => handle,
    });
    const pool: Pool = new Pool({
      server: id,
      isolation: entry.isolation,
      max: entry.pool.max,
      startTimeoutMs,
      introduction,
      makeLink,
      forwardsRoots: entry.forward_roots,
      isRemote: entry.runtime !== 'stdio',
      command: entry.runtime === 'stdio' ? entry.command : undefined,
      isNeededBySome: (member) => usage.isHeardBySome(member) || tasks.isActiveOn(member),
      onHandshake: (member, leftMs) => observer.onHandshake(member, leftMs),
      onOpen: () => observer.onOpen(),
      onOpenFailed: (member, error) => observer.onOpenFailed(member, error),
      onErrorAnswer: options.onErrorAnswer,
      onLost: (error) => life.report({ type: 'pool.lost', error }),
      onUndelivered: (call) => handle.retry(call),
      onHeaderMismatch: (member, call) => observer.onHeaderMismatch(member, call),
      onRequest: (member, envelope, call) => unsolicited.request(member, envelope, call),
      onNotification: (member, envelope, call) => {
        if (envelope.method === 'notifications/message') options.onLogMessage?.(envelope);
        unsolicited.notification(member, envelope, call);
      },
      onNoise: (what) => log.debug({ server: id }, `server sent no message: ${what}`),
      onMemberEnded: (member, error) => observer.onMemberEnded(member, error),
    });
    const handle: Handle = new Handle(id, entry, pool, {
      onDemand: () => life.send({ type: 'demand' }),
      onUsed: () => life.send({ type: 'used' }),
      onWake: () => options.wake(),
    });
    const timeoutMs = entry.request_timeout_seconds * 1000;
    const listNotices = new ListNotices({ cache, timeoutMs, isShared, announce: options.announce });
    const unsolicited = new UnsolicitedMessages({
      forwardsRoots: entry.forward_roots,
      upstreamSubscriptions,
      listNotices,
      usage,
      tasks,
    });
    const life: ServerLife = new ServerLife({
      begin: () => start.begin(),
      drain: () => gate.drain(),
      kill: () => gate.kill(),
      openGate: () => gate.open(),
      closeGate: () => gate.close(),
      refuse: (until) => gate.refuse(until),
      isWanted: (isAfterCrash) => start.isWanted(isAfterCrash),
      onFailure: (error) => observer.onFailure(error as GatewayError),
      onState: (state, before) => gate.onState(state, before),
    });
    const parts = { id, entry, log, cache, eras, handle, pool, usage, upstreamSubscriptions, listNotices };
    const hooks = { life, notes: this, report: (event: ServerEvent) => life.report(event) };
    const start = new ServerStart({ ...parts, ...hooks, isWatched, wake: () => options.wake() });
    const observer = new ConnectionObserver({ ...parts, ...hooks });
    const gate = new ServerGate({
      ...parts,
      ...hooks,
      graceMs,
      subscriberConnections: observer.subscriberConnections,
    });
    this.id = id;
    this.entry = entry;
    this.cache = cache;
    this.eras = eras;
    this.tasks = tasks;
    this.pool = pool;
    this.handle = handle;
    this.#life = life;
    this.#start = start;
    this.#upstreamSubscriptions = upstreamSubscriptions;
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
    this.#start.isToLearn = true;
    this.#start.demand(owner);
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
    this.#start.forget(owner);
    // A call that still waits for it would have a connection opened for nobody.
    this.handle.failWaiting((call) => call.owner === owner, new StoppedError('the client has left'));
    this.#upstreamSubscriptions.release(owner);
    this.tasks.release(owner);
    const letGo = () => {
      this.pool.release(owner);
      this.#start.reconsider();
    };
    const isLearning = this.#start.isToLearn && this.state === 'starting' && !this.cache.isLearnt;
    if (isLearning) void this.#life.until((state) => state !== 'starting').then(letGo);
    else letGo();
  }

  onState(listener: (state: ServerState) => void): () => void {
    return this.#life.onState(listener);
  }

  /** What this server's actor is spawned with, by its supervisor. */
  get actor(): { readonly logic: AnyActorLogic; readonly input: { readonly bearer: unknown } } {
    return { logic: serverLogic, input: { bearer: this.#life } };
  }
}
