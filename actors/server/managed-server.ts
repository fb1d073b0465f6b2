// One server of the catalog with everything that belongs to it: handle, pool, lists, subscriptions, clocks, and the
// logic of its actor. It outlives the actor: after a bug the supervisor spawns a new one, which binds itself here.

import type { AnyActorLogic } from 'xstate';
import type { ServerEntry } from '../../config/catalog-schema.ts';
import type { ServerState } from '../../machines/server.ts';
import {
  ConnectionLostError,
  type GatewayError,
  StoppedError,
  UnavailableError,
  UpstreamProtocolError,
} from '../errors.ts';
import type { Era } from '../jsonrpc/modern-meta.ts';
import type { Log } from '../log.ts';
import type { Link, LinkEvents } from '../upstream/link.ts';
import { latestSessionVersion } from './advert.ts';
import type { Call } from './call.ts';
import { ClientWishes } from './client-wishes.ts';
import { Clocks } from './clocks.ts';
import { askable, type Introduction } from './connection.ts';
import { ServerEras } from './eras.ts';
import { Handle } from './handle.ts';
import { Hearing } from './hearing.ts';
import type { Known } from './known.ts';
import { ListNotices } from './list-notices.ts';
import type { ListKind } from './lists.ts';
import type { Member } from './member.ts';
import { Occupancy } from './occupancy.ts';
import type { Owner } from './owner.ts';
import { Pool } from './pool.ts';
import { ServerLife, serverLogic } from './server-life.ts';
import { ServerVoice } from './server-voice.ts';
import type { LogLevel, Subscriptions } from './subscriptions.ts';

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
  readonly #occupancy: Occupancy;
  readonly #voice: ServerVoice;
  /** Who is to have the first connection where no call waits for it. */
  #demandedBy: Owner | undefined;
  readonly #hearing: Hearing;
  #relisting: Promise<void> | undefined;

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
      untilStartable: () => this.#untilStartable(),
      onVerdict: (eras) => options.log.info({ server: id, ...eras }, 'server was asked which eras it speaks'),
    });
    this.#wishes = new ClientWishes({
      isShared: entry.isolation === 'shared',
      known: options.known,
      pool: () => this.pool,
      isAt: (owner, member) => this.#occupancy.isAt(owner, member),
      subscriptions: options.subscriptions,
    });
    this.#occupancy = new Occupancy({
      server: id,
      isShared: entry.isolation === 'shared',
      eras: this.eras,
      subscriptions: this.#wishes.subscriptions,
      pool: () => this.pool,
      handle: () => this.handle,
    });
    this.#hearing = new Hearing({
      isMissing: (era) => this.handle.isOpen && this.#occupancy.isUnheard(era),
      open: (era) => this.pool.pick(undefined, era),
      onDeaf: (era, error) => this.#onDeaf(era, error),
    });
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
      isHeardBySome: (member) => this.#occupancy.isHeardBySome(member),
      onHandshake: (member, leftMs) => this.#onHandshake(member, leftMs),
      onOpen: () => this.#onOpen(),
      onOpenFailed: (member, error) => this.#onOpenFailed(member, error),
      onLost: (error) => this.#life.report({ type: 'pool.lost', error }),
      onUndelivered: (call) => this.handle.retry(call),
      onHeaderMismatch: (member, call) => this.#onHeaderMismatch(member, call),
      onRequest: (member, envelope, call) => this.#voice.request(member, envelope, call),
      onNotification: (member, envelope, call) => this.#voice.notification(member, envelope, call),
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
    this.#voice = new ServerVoice({
      forwardsRoots: entry.forward_roots,
      wishes: this.#wishes,
      listNotices: this.#listNotices,
      occupancy: this.#occupancy,
    });
    this.#clocks = new Clocks({
      server: id,
      entry,
      members: () => this.pool.members,
      isInUse: (member) => this.#occupancy.isInUse(member),
      isBusy: () => this.#occupancy.isBusy,
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
    this.eras.kill();
    if (this.#life.state === 'stopped') return;
    const done = this.#life.until(isSettledStop);
    this.#life.send({ type: 'stop' });
    await done;
  }

  /**
   * Asks for a start as a waiting call would: a backoff or park that is not over keeps the server off. Where no call
   * waits, the first connection is `owner`'s.
   */
  demand(owner?: Owner | undefined): void {
    if (!this.entry.enabled) return;
    this.#demandedBy = owner;
    const { parkedUntil } = this.handle;
    if (parkedUntil === undefined) this.#life.send({ type: 'demand' });
    else if (parkedUntil <= Date.now()) this.#options.wake();
  }

  get subscriptions(): Subscriptions {
    return this.#wishes.subscriptions;
  }

  /**
   * The modern connection that serves `owner` is to tell of what is subscribed by now; resolves with the resources it
   * agreed to tell of. Rejects with UnavailableError when there is no place for one.
   */
  async listen(owner: Owner): Promise<ReadonlySet<string>> {
    // A1: the server may have ended since it was last asked, and then no connection is to be opened.
    const member = this.handle.isOpen ? this.pool.pick(owner, 'modern') : undefined;
    return member === undefined ? new Set() : this.#wishes.listen(member);
  }

  /** Somebody has unsubscribed; of `orphaned` nobody wants updates any more. */
  unsubscribed(orphaned: readonly string[]): void {
    this.#wishes.unsubscribed(orphaned);
  }

  /** Notes the log level a session asks for, and tells whoever of this server is awake. */
  setLevel(owner: Owner, level: LogLevel): void {
    this.#wishes.setLevel(owner, level);
  }

  /** Whether the server may list more on a connection of `owner`'s own than is known so far. */
  mayShowMoreTo({ capabilities, era }: Pick<Owner, 'capabilities' | 'era'>): boolean {
    const { isolation, enabled, forward_roots } = this.entry;
    if (isolation === 'shared' || !enabled || this.eras.for(era) !== 'legacy') return false;
    const offered = askable(capabilities).filter((name) => name !== 'roots' || forward_roots);
    return this.known.mayLearnMoreFrom({ era: 'legacy', offered });
  }

  /** Opens a connection of `owner`'s own where it has none, if the server runs; resolves when that is open or failed. */
  async admit(owner: Owner): Promise<void> {
    const era = this.eras.for(owner.era);
    if (!this.handle.isOpen || era === undefined) return;
    try {
      this.pool.pick(owner, era);
    } catch {
      // Every place is taken: the server stays as it is known.
    }
    await this.pool.memberOf(owner)?.opening;
  }

  /** A client session is over: its connection, subscriptions and log level go. */
  release(owner: Owner): void {
    if (this.#demandedBy === owner) this.#demandedBy = undefined;
    // What still waits for it would have a connection opened for nobody.
    this.handle.failWaiting((call) => call.owner === owner, new StoppedError('the client has left'));
    this.#wishes.release(owner);
    this.pool.release(owner);
    // While it is asked for its eras nothing has been started for anybody yet.
    if (this.state !== 'starting' || this.pool.members.size > 0 || this.eras.known === undefined) return;
    // The session whose call had the server started is gone: it starts for the next that waits, or not at all.
    if (this.handle.waiting > 0) this.#begin();
    else this.#life.send({ type: 'stop' });
  }

  onState(listener: (state: ServerState) => void): () => void {
    return this.#life.onState(listener);
  }

  /** What this server's actor is spawned with, by its supervisor. */
  get actor(): { readonly logic: AnyActorLogic; readonly input: { readonly bearer: unknown } } {
    return { logic: serverLogic, input: { bearer: this.#life } };
  }

  #begin(): void {
    this.pool.begin();
    const first = (): void => {
      const { next } = this.handle;
      const owner = next?.owner ?? this.#demandedBy;
      this.#demandedBy = undefined;
      this.pool.pick(owner, next?.era ?? this.eras.for(owner?.era ?? 'legacy') ?? 'legacy');
    };
    if (this.eras.known !== undefined) {
      first();
      return;
    }
    const settled = this.eras.settle().then(() => {
      const { known } = this.eras;
      if (this.state !== 'starting' || known === undefined) return;
      // They came by an earlier verdict, and would have connections opened that cannot be.
      const what = `server ${this.id} turned out to speak the protocol of another era; try again`;
      this.handle.failWaiting(({ era }) => !known[era], new UnavailableError(what, 1));
      first();
    });
    settled.catch((error: unknown) => this.#life.report({ type: 'pool.lost', error }));
  }

  /** A server that has failed may be started when its backoff is over, and then it is. */
  async #untilStartable(): Promise<void> {
    if (this.state !== 'failed') return;
    const left = this.#life.until((state) => state !== 'failed');
    this.demand();
    await left;
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
    this.#hearing.stop();
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
    return isListened || this.handle.waiting > 0 || this.eras.isAsking;
  }

  #refuse(until: number): void {
    this.nextRetryAt = until;
    this.eras.kill();
    this.handle.refuse(until, this.lastError?.message ?? 'unknown reason');
  }

  async #onHandshake(member: Member, leftMs: number): Promise<void> {
    const { connection } = member;
    if (!this.handle.isOpen || !this.known.isLearnt || this.known.mayLearnMoreFrom(connection))
      await this.known.learn(connection, leftMs);
    await this.#wishes.replay(member, leftMs);
  }

  #onOpen(): void {
    if (this.handle.isOpen) this.handle.drain();
    else this.#life.report({ type: 'pool.ready' });
    this.#hearing.tend();
  }

  #onOpenFailed({ owner, era }: Member, error: GatewayError): void {
    this.lastError = error;
    // While others work, only an answer in another era's words tells against the verdict.
    if (!this.handle.isOpen || error.cause instanceof UpstreamProtocolError) this.eras.forget();
    if (!this.handle.isOpen) return;
    this.#options.log.warn({ server: this.id, ...reason(error) }, 'a further connection could not be opened');
    this.#hearing.lost(0);
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
    if (!this.handle.isOpen || isLost) return;
    this.handle.drain();
    this.#wishes.lost(member);
    this.#hearing.lost(performance.now() - member.openedAt);
  }

  #onDeaf(era: Era, error: GatewayError): void {
    for (const owner of this.subscriptions.owners())
      if (this.#occupancy.hearsInCommon(owner, era)) owner.onParting(this.id, 'crashed', error);
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

  /** The tool asks for other headers than it did; a call that was refused for that was not carried out. */
  #onHeaderMismatch({ connection }: Member, call: Call): void {
    const timeoutMs = this.entry.request_timeout_seconds * 1000;
    // However many calls are refused at once, the list is fetched once for all of them.
    this.#relisting ??= this.known.refresh(connection, ['tools'], timeoutMs).then(() => {
      this.#relisting = undefined;
    });
    void this.#relisting.then(() => {
      if (!call.isDone) this.handle.retry(call);
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
