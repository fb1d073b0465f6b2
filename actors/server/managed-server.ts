// One server of the catalog with everything that belongs to it: handle, pool, lists, subscriptions, clocks, and the
// logic of its actor. It outlives the actor: after a bug the supervisor spawns a new one, which binds itself here.

import type { AnyActorLogic } from 'xstate';
import type { ServerEntry } from '../../config/catalog-schema.ts';
import type { ServerState } from '../../machines/server.ts';
import { ConnectionLostError, type GatewayError, StoppedError, UnavailableError } from '../errors.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import type { Era } from '../jsonrpc/modern-meta.ts';
import type { Log } from '../log.ts';
import type { Link, LinkEvents } from '../upstream/link.ts';
import { latestSessionVersion } from './advert.ts';
import type { Call } from './call.ts';
import { ClientWishes } from './client-wishes.ts';
import { Clocks } from './clocks.ts';
import { type Introduction, refuseServerRequest } from './connection.ts';
import { ServerEras } from './eras.ts';
import { Handle } from './handle.ts';
import type { Known } from './known.ts';
import { ListNotices } from './list-notices.ts';
import type { ListKind } from './lists.ts';
import type { Member } from './member.ts';
import { type Audience, spreadNotification } from './notifications.ts';
import type { Owner } from './owner.ts';
import { Pool } from './pool.ts';
import { ServerLife } from './server-life.ts';
import type { LogLevel, Subscriptions } from './subscriptions.ts';
import { unmarked } from './upstream-listen.ts';

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
  makeLink(events: LinkEvents, era: Era): Link;
  /** Asks the supervisor to start the actor whatever its backoff or park. */
  wake(): void;
  /** Clients keep streams open that only this server feeds. */
  isWatched(): boolean;
  /** Lists may have changed: clients that see the server are to be told. */
  announce(kinds: readonly ListKind[]): void;
}

export class ManagedServer {
  readonly id: string;
  readonly entry: ServerEntry;
  readonly handle: Handle;
  readonly pool: Pool;
  readonly known: Known;
  readonly eras: ServerEras;
  /** Starts after a failure since the gateway has started. */
  restarts = 0;
  /** When the gate was last opened, in epoch milliseconds; undefined while it is shut. */
  openSince: number | undefined;
  lastError: GatewayError | undefined;
  /** When the supervisor tries again, in epoch milliseconds. */
  nextRetryAt: number | undefined;

  readonly #options: ManagedServerOptions;
  readonly #clocks: Clocks;
  readonly #listNotices: ListNotices;
  readonly #life: ServerLife;
  readonly #wishes: ClientWishes;
  readonly #audience: Audience;

  constructor(options: ManagedServerOptions) {
    const { id, entry } = options;
    this.id = id;
    this.entry = entry;
    this.known = options.known;
    this.#options = options;
    const introduction: Introduction = {
      protocolVersion: latestSessionVersion,
      clientInfo: options.clientInfo,
      capabilities: {},
    };
    this.eras = new ServerEras({
      server: id,
      setting: entry.era,
      known: options.known,
      introduction,
      startTimeoutMs: entry.start_timeout_seconds * 1000,
      makeLink: options.makeLink,
      onVerdict: (eras) => options.log.info({ server: id, ...eras }, 'server was asked which eras it speaks'),
    });
    this.#wishes = new ClientWishes({
      isShared: entry.isolation === 'shared',
      known: options.known,
      pool: () => this.pool,
      isAt: (owner, member) => this.#isAt(owner, member),
      subscriptions: options.subscriptions,
    });
    this.#audience = {
      subscriptions: this.#wishes.subscriptions,
      isAt: (owner, member) => this.#isAt(owner, member),
    };
    this.#life = new ServerLife({
      begin: () => this.#begin(),
      drain: () => this.#drain(),
      kill: () => this.#kill(),
      openGate: () => this.#openGate(),
      closeGate: () => this.#closeGate(),
      refuse: (until) => this.#refuse(until),
      isWanted: (isAfterCrash) => this.#isWanted(isAfterCrash),
      onFailure: (error) => this.#onFailure(error as GatewayError),
      onState: (state, before) => this.#onState(state, before),
    });
    this.pool = new Pool({
      server: id,
      isolation: entry.isolation,
      max: entry.pool.max,
      startTimeoutMs: entry.start_timeout_seconds * 1000,
      introduction,
      forwardsRoots: entry.forward_roots,
      isRemote: entry.runtime !== 'stdio',
      makeLink: options.makeLink,
      onHandshake: (member, leftMs) => this.#onHandshake(member, leftMs),
      onOpen: () => this.#onOpen(),
      onOpenFailed: (member, error) => this.#onOpenFailed(member, error),
      onLost: (error) => this.#life.report({ type: 'pool.lost', error }),
      onUndelivered: (call) => this.handle.retry(call),
      onRequest: (member, envelope, call) => this.#onRequest(member, envelope, call),
      onNotification: (member, envelope, call) => this.#onNotification(member, envelope, call),
      onNoise: (what) => options.log.debug({ server: id }, `server sent no message: ${what}`),
      onMemberEnded: (member, error) => this.#onMemberEnded(member, error),
    });
    this.handle = new Handle(id, entry, this.pool, {
      onDemand: () => this.#life.send({ type: 'demand' }),
      onUsed: () => this.#life.send({ type: 'used' }),
      onWake: () => options.wake(),
    });
    this.#listNotices = new ListNotices({
      known: options.known,
      timeoutMs: entry.request_timeout_seconds * 1000,
      isShared: entry.isolation === 'shared',
      announce: options.announce,
    });
    this.#clocks = new Clocks({
      server: id,
      entry,
      members: () => this.pool.members,
      isInUse: (member) => this.#isInUse(member),
      isBusy: () => this.#isBusy,
      lastUsedAt: () => this.handle.lastUsedAt,
      onSilent: (member, missed) => this.#onSilent(member, missed),
      onIdleMember: (member) => this.#onIdleMember(member),
      onQuiet: (span) => {
        this.handle.isIdle = span === 'half';
        this.#life.report({ type: 'quiet', span });
      },
    });
  }

  get state(): ServerState {
    return this.#life.state;
  }

  get isRunning(): boolean {
    return this.#life.state === 'running' || this.#life.state === 'idle';
  }

  /** Starts the server; resolves once it runs. Rejects with the reason it could not. */
  async start(): Promise<void> {
    if (!this.entry.enabled) {
      throw new UnavailableError(`server ${this.id} is switched off (enabled: false in the catalog)`, 60);
    }
    if (this.isRunning) return;
    const done = this.#life.until(isSettledStart);
    this.#options.wake();
    const state = await done;
    if (state === 'failed') throw this.lastError ?? new ConnectionLostError(`server ${this.id} failed`);
    if (state !== 'running') throw new StoppedError(`server ${this.id} was stopped while it was starting`);
  }

  /** Stops the server; resolves once nothing of it is left. A later request starts it again. */
  async stop(): Promise<void> {
    if (this.#life.state === 'stopped') return;
    const done = this.#life.until(isSettledStop);
    this.#life.send({ type: 'stop' });
    await done;
  }

  /** Asks for a start as a waiting call would: a backoff or park that is not over keeps the server off. */
  demand(): void {
    if (!this.entry.enabled) return;
    const { parkedUntil } = this.handle;
    if (parkedUntil === undefined) this.#life.send({ type: 'demand' });
    else if (parkedUntil <= Date.now()) this.#options.wake();
  }

  get subscriptions(): Subscriptions {
    return this.#wishes.subscriptions;
  }

  /** A modern server's connection is to tell of what is subscribed by now; resolves with the resources it agreed to. */
  listen(member: Member): Promise<ReadonlySet<string>> {
    return this.#wishes.listen(member);
  }

  /** Nobody wants updates of the resource any more. */
  unsubscribed(uri: string): void {
    this.#wishes.unsubscribed(uri);
  }

  /** Notes the log level a session asks for, and tells whoever of this server is awake. */
  setLevel(owner: Owner, level: LogLevel): void {
    this.#wishes.setLevel(owner, level);
  }

  /** A client session is over: its connection, subscriptions and log level go. */
  release(owner: Owner): void {
    this.#wishes.release(owner);
    this.pool.release(owner);
    if (this.state !== 'starting' || this.pool.members.size > 0) return;
    // The session whose call had the server started is gone: it starts for the next that waits, or not at all.
    if (this.handle.waiting > 0) this.#begin();
    else this.#life.send({ type: 'stop' });
  }

  onState(listener: (state: ServerState) => void): () => void {
    return this.#life.onState(listener);
  }

  /** The logic of this server's actor, for its supervisor to spawn. */
  logic(): AnyActorLogic {
    return this.#life.logic();
  }

  #begin(): void {
    this.pool.begin();
    const first = (): void => {
      const { next } = this.handle;
      this.pool.pick(next?.owner, next?.era ?? this.eras.for('legacy') ?? 'legacy');
    };
    if (this.eras.known !== undefined) {
      first();
      return;
    }
    void this.eras.settle().then(() => {
      if (this.state === 'starting') first();
    });
  }

  async #drain(): Promise<void> {
    this.#endClocks();
    await this.pool.drain(this.#options.graceMs());
  }

  #kill(): void {
    // A machine that threw has closed nothing: an open gate would open connections that no machine knows of (A1).
    this.#closeGate();
    const lastWords = this.lastError ?? new StoppedError(`server ${this.id} was stopped`);
    this.pool.kill(new ConnectionLostError(lastWords.message, { cause: lastWords }));
    this.eras.kill();
  }

  #openGate(): void {
    if (this.handle.isOpen) return;
    this.openSince = Date.now();
    this.nextRetryAt = undefined;
    this.handle.lastUsedAt = performance.now();
    this.#clocks.start();
    this.handle.open();
  }

  #closeGate(): void {
    this.openSince = undefined;
    this.handle.close();
    this.#endClocks();
  }

  #endClocks(): void {
    this.#clocks.stop();
    this.#listNotices.stop();
  }

  #onState(state: ServerState, before: ServerState): void {
    this.#options.log.info({ server: this.id, from: before, state }, 'server state');
    if (before !== 'failed') return;
    if (state === 'starting') this.restarts += 1;
    // Whoever left `failed`, by hand or by its time, is parked no more.
    this.handle.parkedUntil = undefined;
  }

  #onFailure(error: GatewayError): void {
    this.lastError = error;
    this.#options.log.warn({ server: this.id, ...reason(error) }, 'server failed');
  }

  #isWanted(isAfterCrash: boolean): boolean {
    if (!this.entry.enabled) return false;
    const isListened = isAfterCrash && (!this.subscriptions.isEmpty || this.#options.isWatched());
    return isListened || this.handle.waiting > 0;
  }

  #refuse(until: number): void {
    this.nextRetryAt = until;
    this.handle.refuse(until, this.lastError?.message ?? 'unknown reason');
  }

  async #onHandshake(member: Member, leftMs: number): Promise<void> {
    const { connection } = member;
    if (!this.handle.isOpen || !this.known.hasAdvert) await this.known.learn(connection, leftMs);
    await this.#wishes.replay(member, leftMs);
  }

  #onOpen(): void {
    if (this.handle.isOpen) this.handle.drain();
    else this.#life.report({ type: 'pool.ready' });
  }

  #onOpenFailed({ owner, era }: Member, error: GatewayError): void {
    this.lastError = error;
    this.eras.forget();
    if (!this.handle.isOpen) return;
    this.#options.log.warn({ server: this.id, ...reason(error) }, 'a further connection could not be opened');
    if (this.entry.isolation === 'session')
      this.handle.failWaiting(
        (call) => call.era === era && this.pool.placeOf(call.owner, era) === owner,
        error,
      );
    else if (this.pool.members.size > 0) this.handle.drain();
  }

  #onMemberEnded(member: Member, error: GatewayError): void {
    this.lastError = error;
    const fields = { server: this.id, session: member.owner?.label, ...reason(error) };
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
    if (owner === undefined) return this.subscriptions.uris(({ isListener }) => isListener).length > 0;
    if (!owner.hasOpenStream) return false;
    return owner.belongsTo(this.id) || this.subscriptions.uris((other) => other === owner).length > 0;
  }

  /** Whether `owner` is served by this very connection. */
  #isAt(owner: Owner, member: Member): boolean {
    return this.eras.for(owner.era) === member.era && this.pool.placeOf(owner, member.era) === member.owner;
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
    if (this.#wishes.take(member, envelope)) return;
    const plain = member.era === 'modern' ? unmarked(envelope) : envelope;
    if (this.#listNotices.take(member, plain)) return;
    const { owner, era } = member;
    if (owner !== undefined && era === 'legacy') owner.onServerNotification(member.connection, plain, call);
    else spreadNotification(this.#audience, member, plain, call);
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
