// One server of the catalog with everything that belongs to it: handle, pool, lists, subscriptions, clocks, and the
// logic of its actor. It outlives the actor: after a bug the supervisor spawns a new one, which binds itself here.

import { type ActorRefFrom, type AnyActorLogic, fromCallback, type Subscription } from 'xstate';
import type { ServerEntry } from '../../config/catalog-schema.ts';
import {
  type ServerEvent,
  type ServerInput,
  type ServerState,
  serverMachine,
  serverState,
} from '../../machines/server.ts';
import { ConnectionLostError, type GatewayError, StoppedError, UnavailableError } from '../errors.ts';
import { guarded } from '../guarded.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import type { Log } from '../log.ts';
import type { Link, LinkEvents } from '../upstream/link.ts';
import { latestSessionVersion } from './advert.ts';
import type { Call } from './call.ts';
import { refuseServerRequest } from './connection.ts';
import { Handle } from './handle.ts';
import { Health } from './health.ts';
import { IdleMembers } from './idle-members.ts';
import type { Known } from './known.ts';
import { ListNotices } from './list-notices.ts';
import type { ListKind } from './lists.ts';
import type { Member } from './member.ts';
import { spreadNotification } from './notifications.ts';
import type { Owner } from './owner.ts';
import { Pool } from './pool.ts';
import { QuietClock } from './quiet-clock.ts';
import { type LogLevel, Subscriptions } from './subscriptions.ts';

export interface ManagedServerOptions {
  readonly id: string;
  readonly entry: ServerEntry;
  readonly known: Known;
  readonly log: Log;
  readonly clientInfo: { readonly name: string; readonly version: string };
  /** How long calls in flight may still take when the server is stopped, in milliseconds. */
  readonly graceMs: () => number;
  /** What clients have asked of a predecessor. */
  readonly subscriptions: Subscriptions | undefined;
  makeLink(events: LinkEvents): Link;
  /** Asks the supervisor to start the actor whatever its backoff or park. */
  wake(): void;
  /** Clients keep streams open that only this server feeds. */
  isWatched(): boolean;
  /** Lists may have changed: clients that see the server are to be told. */
  announce(kinds: readonly ListKind[]): void;
}

type ServerActorRef = ActorRefFrom<typeof serverMachine>;

const REPLAY_TIMEOUT_MS = 5000;

export class ManagedServer {
  readonly id: string;
  readonly entry: ServerEntry;
  readonly handle: Handle;
  readonly pool: Pool;
  readonly known: Known;
  readonly subscriptions: Subscriptions;
  /** Starts after a failure since the gateway has started. */
  restarts = 0;
  /** When the gate was last opened, in epoch milliseconds; undefined while it is shut. */
  openSince: number | undefined;
  lastError: GatewayError | undefined;
  /** When the supervisor tries again, in epoch milliseconds. */
  nextRetryAt: number | undefined;

  readonly #options: ManagedServerOptions;
  readonly #health: Health;
  readonly #quiet: QuietClock;
  readonly #idleMembers: IdleMembers;
  readonly #listeners = new Set<(state: ServerState) => void>();
  readonly #listNotices: ListNotices;
  #ref: ServerActorRef | undefined;
  #subscription: Subscription | undefined;
  #state: ServerState = 'stopped';
  #report: ((event: ServerEvent) => void) | undefined;

  constructor(options: ManagedServerOptions) {
    const { id, entry } = options;
    this.id = id;
    this.entry = entry;
    this.known = options.known;
    this.subscriptions = options.subscriptions ?? new Subscriptions();
    this.#options = options;
    this.pool = new Pool({
      server: id,
      isolation: entry.isolation,
      max: entry.pool.max,
      startTimeoutMs: entry.start_timeout_seconds * 1000,
      introduction: {
        protocolVersion: latestSessionVersion,
        clientInfo: options.clientInfo,
        capabilities: {},
      },
      forwardsRoots: entry.forward_roots,
      isRemote: entry.runtime !== 'stdio',
      makeLink: options.makeLink,
      onHandshake: (member, leftMs) => this.#onHandshake(member, leftMs),
      onOpen: () => this.#onOpen(),
      onOpenFailed: (owner, error) => this.#onOpenFailed(owner, error),
      onLost: (error) => this.#report?.({ type: 'pool.lost', error }),
      onUndelivered: (call) => this.handle.retry(call),
      onRequest: (member, envelope, call) => this.#onRequest(member, envelope, call),
      onNotification: (member, envelope, call) => this.#onNotification(member, envelope, call),
      onNoise: (what) => options.log.debug({ server: id }, `server sent no message: ${what}`),
      onMemberEnded: (member, error) => this.#onMemberEnded(member, error),
    });
    this.handle = new Handle(id, entry, this.pool, {
      onDemand: () => this.#send({ type: 'demand' }),
      onUsed: () => this.#send({ type: 'used' }),
      onWake: () => options.wake(),
    });
    this.#health = new Health({
      server: id,
      intervalMs: entry.health.interval_seconds * 1000,
      timeoutMs: entry.health.timeout_seconds * 1000,
      failures: entry.health.failures,
      members: () => this.pool.members,
      onSilent: (member, missed) => this.#onSilent(member, missed),
    });
    this.#idleMembers = new IdleMembers({
      // A shared connection idles out with its server only.
      idleTimeoutMs: entry.isolation === 'session' ? entry.idle_timeout_seconds * 1000 : 0,
      members: () => this.pool.members,
      isBusy: (member) => this.#isInUse(member),
      onIdle: (member) => this.#onIdleMember(member),
    });
    this.#listNotices = new ListNotices({
      known: options.known,
      timeoutMs: entry.request_timeout_seconds * 1000,
      isShared: entry.isolation === 'shared',
      announce: options.announce,
    });
    this.#quiet = new QuietClock({
      idleTimeoutMs: entry.idle_timeout_seconds * 1000,
      isBusy: () => this.#isBusy,
      lastUsedAt: () => this.handle.lastUsedAt,
      onQuiet: (span) => {
        this.handle.isIdle = span === 'half';
        this.#report?.({ type: 'quiet', span });
      },
    });
  }

  get state(): ServerState {
    return this.#state;
  }

  get isRunning(): boolean {
    return this.#state === 'running' || this.#state === 'idle';
  }

  /** Starts the server; resolves once it runs. Rejects with the reason it could not. */
  async start(): Promise<void> {
    if (!this.entry.enabled) {
      throw new UnavailableError(`server ${this.id} is switched off (enabled: false in the catalog)`, 60);
    }
    if (this.isRunning) return;
    const done = this.#until(isSettledStart);
    this.#options.wake();
    const state = await done;
    if (state === 'failed') throw this.lastError ?? new ConnectionLostError(`server ${this.id} failed`);
    if (state !== 'running') throw new StoppedError(`server ${this.id} was stopped while it was starting`);
  }

  /** Stops the server; resolves once nothing of it is left. A later request starts it again. */
  async stop(): Promise<void> {
    if (this.#state === 'stopped') return;
    const done = this.#until(isSettledStop);
    this.#send({ type: 'stop' });
    await done;
  }

  /** Asks for a start as a waiting call would: a backoff or park that is not over keeps the server off. */
  demand(): void {
    if (!this.entry.enabled) return;
    const { parkedUntil } = this.handle;
    if (parkedUntil === undefined) this.#send({ type: 'demand' });
    else if (parkedUntil <= Date.now()) this.#options.wake();
  }

  /** Notes the log level a session asks for, and tells whoever of this server is awake. */
  setLevel(owner: Owner, level: LogLevel): void {
    const before = this.subscriptions.lowestLevel(undefined);
    this.subscriptions.setLevel(owner, level);
    if (this.entry.isolation === 'shared') {
      this.#tellLevel(before);
      return;
    }
    const member = this.pool.memberOf(owner);
    if (member?.isOpen === true && this.#isLogging) this.#tell(member, 'logging/setLevel', { level });
  }

  /** A client session is over: its connection, subscriptions and log level go. */
  release(owner: Owner): void {
    const before = this.subscriptions.lowestLevel(undefined);
    const orphaned = this.subscriptions.release(owner);
    if (this.entry.isolation === 'shared') {
      for (const uri of orphaned) this.#tellAll('resources/unsubscribe', { uri });
      this.#tellLevel(before);
    }
    this.pool.release(owner);
    if (this.#state !== 'starting' || this.pool.members.size > 0) return;
    // The session whose call had the server started is gone: it starts for the next that waits, or not at all.
    if (this.handle.waiting > 0) this.#begin();
    else this.#send({ type: 'stop' });
  }

  onState(listener: (state: ServerState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The logic of this server's actor, for its supervisor to spawn. */
  logic(): AnyActorLogic {
    return guarded(
      serverMachine.provide({
        actors: {
          pool: fromCallback<{ type: 'drain' }, ServerInput>(({ sendBack, receive }) => {
            this.#report = sendBack;
            receive(() => void this.#drain(sendBack));
            this.#begin();
            return () => {
              if (this.#report === sendBack) this.#report = undefined;
              this.#endClocks();
              const lastWords = this.lastError ?? new StoppedError(`server ${this.id} was stopped`);
              this.pool.kill(new ConnectionLostError(lastWords.message, { cause: lastWords }));
            };
          }),
        },
        actions: {
          openGate: () => this.#openGate(),
          closeGate: ({ self }) => this.#closeGate(self as ServerActorRef),
          refuse: (_, { until }) => this.#refuse(until),
          askDemand: ({ self }, { isAfterCrash }) => this.#askDemand(self as ServerActorRef, isAfterCrash),
          reportFailure: ({ context }, { error, parent }) => {
            this.lastError = error as GatewayError;
            this.#options.log.warn({ server: this.id, ...reason(error) }, 'server failed');
            parent?.send({ type: 'child.failed', key: context.key, generation: context.generation, error });
          },
        },
      }),
    );
  }

  #send(event: ServerEvent): void {
    this.#ref?.send(event);
  }

  #begin(): void {
    this.pool.begin();
    const owner = this.entry.isolation === 'session' ? this.handle.nextOwner : undefined;
    this.pool.pick(owner);
  }

  async #drain(sendBack: (event: ServerEvent) => void): Promise<void> {
    this.#endClocks();
    await this.pool.drain(this.#options.graceMs());
    sendBack({ type: 'pool.drained' });
  }

  #openGate(): void {
    if (this.handle.isOpen) return;
    this.openSince = Date.now();
    this.nextRetryAt = undefined;
    this.handle.lastUsedAt = performance.now();
    this.#health.start();
    this.#quiet.start();
    this.#idleMembers.start();
    this.handle.open();
  }

  #closeGate(self: ServerActorRef): void {
    if (this.#ref !== self) this.#bind(self);
    this.openSince = undefined;
    this.handle.close();
    this.#endClocks();
  }

  #endClocks(): void {
    this.#health.stop();
    this.#quiet.stop();
    this.#idleMembers.stop();
    this.#listNotices.stop();
  }

  #bind(self: ServerActorRef): void {
    this.#subscription?.unsubscribe();
    this.#ref = self;
    this.#subscription = self.subscribe({
      next: (snapshot) => this.#stateIs(serverState(snapshot.value)),
      error: () => this.#stateIs('failed'),
      complete: () => this.#stateIs('stopped'),
    });
  }

  #stateIs(state: ServerState): void {
    if (state === this.#state) return;
    this.#options.log.info({ server: this.id, from: this.#state, state }, 'server state');
    if (this.#state === 'failed') {
      if (state === 'starting') this.restarts += 1;
      // Whoever left `failed`, by hand or by its time, is parked no more.
      this.handle.parkedUntil = undefined;
    }
    this.#state = state;
    for (const listener of [...this.#listeners]) listener(state);
  }

  /** Asked for later, so that whoever watches sees the state that was entered first. */
  #askDemand(self: ServerActorRef, isAfterCrash: boolean): void {
    setImmediate(() => {
      const isWanted =
        this.handle.waiting > 0 ||
        (isAfterCrash && (!this.subscriptions.isEmpty || this.#options.isWatched()));
      if (isWanted && this.entry.enabled) self.send({ type: 'demand' });
    });
  }

  #refuse(until: number): void {
    this.nextRetryAt = until;
    this.handle.refuse(until, this.lastError?.message ?? 'unknown reason');
  }

  async #onHandshake(member: Member, leftMs: number): Promise<void> {
    const { connection } = member;
    if (!this.handle.isOpen || !this.known.hasAdvert) await this.known.learn(connection, leftMs);
    const owner = this.entry.isolation === 'session' ? member.owner : undefined;
    if (this.entry.isolation === 'session' && owner === undefined) return;
    // What clients asked of an earlier connection is asked again; a server that refuses is heard without it.
    const level = this.subscriptions.lowestLevel(owner);
    const timeoutMs = Math.min(leftMs, REPLAY_TIMEOUT_MS);
    const replayed = this.subscriptions
      .uris(owner)
      .map((uri) => connection.request('resources/subscribe', { uri }, timeoutMs));
    if (level !== undefined) replayed.push(connection.request('logging/setLevel', { level }, timeoutMs));
    await Promise.allSettled(replayed);
  }

  #onOpen(): void {
    if (this.handle.isOpen) this.handle.drain();
    else this.#report?.({ type: 'pool.ready' });
  }

  #onOpenFailed(owner: Owner | undefined, error: GatewayError): void {
    this.lastError = error;
    if (!this.handle.isOpen) return;
    this.#options.log.warn({ server: this.id, ...reason(error) }, 'a further connection could not be opened');
    if (this.entry.isolation === 'session') this.handle.failWaiting((call) => call.owner === owner, error);
    else if (this.pool.members.size > 0) this.handle.drain();
  }

  #onMemberEnded(member: Member, error: GatewayError): void {
    this.lastError = error;
    const fields = { server: this.id, session: member.owner?.id, ...reason(error) };
    this.#options.log.warn(fields, 'a connection ended by itself');
    // The last shared connection is the server itself: whoever waits, waits for the supervisor's verdict.
    const isLost = this.entry.isolation === 'shared' && this.pool.members.size === 0;
    if (this.handle.isOpen && !isLost) this.handle.drain();
  }

  get #isBusy(): boolean {
    for (const member of this.pool.members) if (this.#isInUse(member)) return true;
    return this.entry.isolation === 'shared' && !this.subscriptions.isEmpty;
  }

  /** A connection that must not end for want of calls: somebody waits for an answer, or listens to this very server. */
  #isInUse({ isOpen, inFlight, owner }: Member): boolean {
    if (!isOpen || inFlight > 0) return true;
    if (owner === undefined || !owner.hasOpenStream) return false;
    return owner.belongsTo(this.id) || this.subscriptions.uris(owner).length > 0;
  }

  #onIdleMember(member: Member): void {
    const seconds = this.entry.idle_timeout_seconds;
    const error = new StoppedError(
      `the connection to server ${this.id} was not used for ${seconds} s and has ended`,
    );
    void this.pool.close(member, error, 'idle');
  }

  #onSilent(member: Member, missed: number): void {
    const error = new ConnectionLostError(
      `server ${this.id} did not answer ${missed} health pings in a row and was ended`,
    );
    this.lastError = error;
    member.connection.failAll(error);
    member.connection.link.kill();
  }

  #onRequest(member: Member, envelope: Envelope, call: Call | undefined): void {
    const owner = this.entry.isolation === 'session' ? member.owner : undefined;
    if (owner === undefined || (envelope.method === 'roots/list' && !this.entry.forward_roots)) {
      refuseServerRequest(member.connection, envelope);
    } else {
      owner.onServerRequest(member.connection, envelope, call);
    }
  }

  #onNotification(member: Member, envelope: Envelope, call: Call | undefined): void {
    if (this.#listNotices.take(member, envelope)) return;
    if (this.entry.isolation === 'session')
      member.owner?.onServerNotification(member.connection, envelope, call);
    else spreadNotification(this.subscriptions, member.connection, envelope, call);
  }

  get #isLogging(): boolean {
    return this.known.advert?.capabilities.logging !== undefined;
  }

  /** A shared server is told the lowest level when that has changed; nobody's level at all leaves it as it is. */
  #tellLevel(before: LogLevel | undefined): void {
    const level = this.subscriptions.lowestLevel(undefined);
    if (level !== undefined && level !== before && this.#isLogging)
      this.#tellAll('logging/setLevel', { level });
  }

  #tellAll(method: string, params: unknown): void {
    for (const member of this.pool.members) if (member.isOpen) this.#tell(member, method, params);
  }

  /** Whether the server agrees changes nothing. */
  #tell(member: Member, method: string, params: unknown): void {
    member.connection.request(method, params, REPLAY_TIMEOUT_MS).catch(() => {});
  }

  #until(isReached: (state: ServerState) => boolean): Promise<ServerState> {
    return new Promise((resolve) => {
      const forget = this.onState((state) => {
        if (!isReached(state)) return;
        forget();
        resolve(state);
      });
    });
  }
}

/** A start has succeeded, failed, or was given up by a stop. */
function isSettledStart(state: ServerState): boolean {
  return state !== 'starting' && state !== 'idle';
}

/** A stop has succeeded, or a start that came after it has taken over. */
function isSettledStop(state: ServerState): boolean {
  return state === 'stopped' || state === 'starting';
}

function reason(error: unknown): { code: string | undefined; reason: string } {
  const { code, message } = error as { code?: string; message?: string };
  return { code, reason: message ?? String(error) };
}
