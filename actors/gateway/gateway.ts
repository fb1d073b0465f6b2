// The gateway as a library: servers, client sessions and the way between them, without any front end. A front end
// hands messages in and gets them back through an Outlet; src/http does so for HTTP.

import { join } from 'node:path';
import { type ActorRefFrom, createActor, fromPromise } from 'xstate';
import type { Catalog, ServerEntry } from '../../config/catalog-schema.ts';
import type { GatewayConfig } from '../../config/gateway-schema.ts';
import { gatewayMachine } from '../../machines/gateway.ts';
import { supervisorMachine } from '../../machines/supervisor.ts';
import { Aggregate } from '../client/aggregate.ts';
import { Discovery } from '../client/discovery.ts';
import { Crossings } from '../client/forward.ts';
import { EVERY_SERVER, Sessions } from '../client/sessions.ts';
import { ToolSearch } from '../client/tool-search.ts';
import { deadLettersOf } from '../dead-letters.ts';
import { type GatewayError, StoppedError, UnknownServerError } from '../errors.ts';
import { guarded } from '../guarded.ts';
import type { Log } from '../log.ts';
import { Redactor } from '../redact.ts';
import { Known } from '../server/known.ts';
import { everyListKind } from '../server/lists.ts';
import { ManagedServer } from '../server/managed-server.ts';
import type { Owner } from '../server/owner.ts';
import { UnfitTools } from '../server/unfit-tools.ts';
import { ChildRecords } from '../state/child-records.ts';
import { identityOf } from '../state/process-identity.ts';
import { acquireStateLock, type StateLock } from '../state/state-lock.ts';
import { makeLink } from '../upstream/make-link.ts';
import { type CatalogDifference, SERVERS, ServerFleet } from './server-fleet.ts';

/** A part of the program that starts after the gateway's own and is drained before them, such as a listener. */
export interface Part {
  readonly name: string;
  boot(): Promise<void>;
  /** Ends the part within `graceMs`. */
  drain(graceMs: number): Promise<void>;
}

export interface GatewayOptions {
  readonly config: GatewayConfig;
  readonly catalog: Catalog;
  /** Values that must never be shown. */
  readonly secrets: readonly string[];
  readonly log: Log;
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly parts?: readonly Part[];
  /**
   * The state folder: `own` takes it for this process alone, `shared` lives beside its owner and others like itself,
   * `none` keeps nothing there, for a catalog that starts no process. @default 'own'
   */
  readonly state?: 'own' | 'shared' | 'none';
}

type RootRef = ActorRefFrom<typeof gatewayMachine>;

/** Closing stdin, TERM and KILL of a stubborn process take this long together. */
const REAP_MS = 2_500;
/** For what was learnt last to reach the disk. */
const FLUSH_MS = 1_000;
const OWN_PARTS = ['state', SERVERS, 'sessions'] as const;

export class Gateway {
  readonly config: GatewayConfig;
  readonly version: string;
  readonly log: Log;
  readonly redactor: Redactor;
  readonly fleet: ServerFleet;
  readonly sessions: Sessions;
  readonly aggregate: Aggregate;
  readonly discovery: Discovery;
  readonly crossings = new Crossings();
  /** Set under `expose: search`. */
  readonly search: ToolSearch | undefined;
  readonly startedAt = Date.now();
  isDraining = false;
  /** How it introduces itself to clients that see all servers as one. */
  readonly serverInfo: { readonly name: string; readonly title: string; readonly version: string };
  /** The actor tree, for whoever wants to watch it. */
  readonly root: RootRef;

  readonly #options: GatewayOptions;
  readonly #parts: ReadonlyMap<string, Part>;
  #catalog: Catalog;
  /** Of what is known of all servers together: to ask each of a thousand would cost more than what is made of it. */
  #revision = 0;
  #lock: StateLock | undefined;
  #records: ChildRecords | undefined;
  #shutdownDeadline: number | undefined;

  constructor(options: GatewayOptions) {
    const { config, log } = options;
    this.#options = options;
    this.#catalog = options.catalog;
    this.config = config;
    this.version = options.version;
    this.serverInfo = { name: 'actor-gateway', title: 'actor-gateway', version: options.version };
    this.log = log;
    this.redactor = new Redactor(options.secrets);
    this.fleet = new ServerFleet({
      log,
      shutdownMs: config.shutdown_seconds * 1000 + REAP_MS + 1000,
      make: (id, entry, hash, wake, previous) => this.#makeServer(id, entry, hash, wake, previous),
      onGone: (server, isReplaced) => this.#onServerGone(server, isReplaced),
    });
    const servers = () => this.fleet.all();
    this.aggregate = new Aggregate(servers, () => this.#revision);
    const tagsOf = (id: string) => this.#catalog.servers[id]?.tags ?? [];
    this.search =
      config.expose === 'search' ? new ToolSearch({ aggregate: this.aggregate, tagsOf }) : undefined;
    this.discovery = new Discovery(this.aggregate);
    this.sessions = new Sessions({
      maxSessions: config.limits.sessions,
      idleMs: config.limits.session_idle_seconds * 1000,
      log,
      onEnd: (session) => this.release(session),
    });
    this.#parts = new Map((options.parts ?? []).map((part) => [part.name, part]));
    this.root = this.#makeRoot();
  }

  /** Boots everything; rejects with the first reason it cannot, and then nothing is left running. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.root.subscribe({
        next: (snapshot) => {
          if (snapshot.value === 'serving') resolve();
          else if (snapshot.status === 'done') reject(snapshot.context.error);
        },
        error: reject,
      });
      this.root.start();
    });
  }

  /** Drains everything in reverse order within `shutdown_seconds`. */
  async stop(): Promise<void> {
    this.isDraining = true;
    this.#shutdownDeadline ??= performance.now() + this.config.shutdown_seconds * 1000;
    await new Promise<void>((resolve) => {
      this.root.subscribe({ complete: resolve, error: () => resolve() });
      this.root.send({ type: 'shutdown' });
    });
  }

  /** Calls back when the actor tree fails for good while serving; the process has to end then. */
  whenFailed(listener: (error: unknown) => void): void {
    const report = (error: unknown) => {
      if (error !== undefined) listener(error);
    };
    this.root.subscribe({ complete: () => report(this.root.getSnapshot().context.error), error: report });
  }

  /** Events that were sent to actors which had ended. */
  get deadLetters(): number {
    return deadLettersOf(this.root.system).count;
  }

  /** The very last resort: kills every process at once. */
  kill(): void {
    const error = new StoppedError('the gateway was stopped at once');
    for (const { handle, pool, eras } of this.fleet.everyone()) {
      // First, or a call that waits would have another process started.
      handle.close();
      eras.kill();
      pool.kill(error);
    }
  }

  /** Ends every call, waiting or sent, with the same error; the servers stay as they are. */
  failCalls(error: GatewayError): void {
    for (const { handle, pool, eras } of this.fleet.everyone()) {
      eras.kill();
      handle.failWaiting(() => true, error);
      for (const member of pool.members) member.connection.failAll(error);
    }
  }

  /** The server of that id. Throws UnknownServerError. */
  server(id: string): ManagedServer {
    const server = this.fleet.get(id);
    if (server !== undefined) return server;
    throw new UnknownServerError(
      `there is no server ${JSON.stringify(id.slice(0, 64))} in the catalog; GET /servers lists them`,
    );
  }

  /** Makes the running servers what the catalog says. Untouched ones keep processes and sessions. */
  async reload(catalog: Catalog, secrets: readonly string[]): Promise<CatalogDifference> {
    this.redactor.add(...secrets);
    this.#catalog = catalog;
    const difference = this.fleet.apply(catalog);
    const fresh = [...difference.added, ...difference.changed];
    await Promise.all(fresh.map((id) => this.fleet.get(id)?.known.load()));
    for (const id of fresh) this.sessions.announce(id, everyListKind);
    if (difference.removed.length > 0) this.sessions.announce(EVERY_SERVER, everyListKind);
    this.log.info(difference, 'catalog reloaded');
    return difference;
  }

  #makeServer(
    id: string,
    entry: ServerEntry,
    hash: string,
    wake: () => void,
    previous: ManagedServer | undefined,
  ): ManagedServer {
    const { log, redactor } = this;
    const file = join(this.config.state_dir, 'lists', `${hash}.json`);
    const known = new Known(
      this.#options.state === 'none' ? undefined : file,
      (kinds, isFirst) => {
        if (kinds.includes('tools')) unfit.tell();
        this.sessions.announce(isFirst ? EVERY_SERVER : id, kinds);
      },
      (what) => log.warn({ server: id }, redactor.redact(what)),
      () => {
        this.#revision += 1;
      },
    );
    const server: ManagedServer = new ManagedServer({
      id,
      entry,
      known,
      log,
      clientInfo: { name: 'actor-gateway', version: this.version },
      graceMs: () => this.#graceMs(),
      subscriptions: previous?.subscriptions,
      makeLink: (events, era) =>
        makeLink(entry, era, events, {
          inputSchemaOf: (tool) => known.inputSchemaOf(tool),
          server: id,
          maxMessageBytes: this.config.limits.message_bytes,
          redactor,
          environment: this.#options.environment,
          records: this.#records,
          log,
        }),
      wake,
      isWatched: () => this.sessions.isWatching(id),
      announce: (kinds) => this.sessions.announce(id, kinds),
    });
    const unfit = new UnfitTools(() => server, log);
    return server;
  }

  /** How long calls in flight may still take when a server is stopped now. */
  #graceMs(): number {
    if (this.#shutdownDeadline === undefined) return this.config.shutdown_seconds * 1000;
    return Math.max(0, this.#shutdownDeadline - performance.now() - REAP_MS);
  }

  #onServerGone(server: ManagedServer, isReplaced: boolean): void {
    if (!isReplaced) this.sessions.endAllOf(server.id, `server ${server.id} left the catalog`);
  }

  /** A client is over: no server keeps anything for it any more. */
  release(session: Owner & { readonly target: string | undefined }): void {
    if (session.target === undefined) for (const server of this.fleet.all()) server.release(session);
    else this.fleet.get(session.target)?.release(session);
  }

  #makeRoot(): RootRef {
    const logic = gatewayMachine.provide({
      actors: {
        servers: guarded(supervisorMachine),
        bootPart: fromPromise(({ input }) => this.#boot(input.part)),
        drainPart: fromPromise(({ input }) => this.#drain(input.part)),
      },
    });
    const parts = [...OWN_PARTS, ...this.#parts.keys()];
    return createActor(logic, {
      id: 'gateway',
      systemId: 'gateway',
      input: { parts, servers: this.fleet.supervisorInput() },
    });
  }

  async #boot(part: string): Promise<void> {
    if (part === 'state') await this.#bootState();
    else if (part === SERVERS) await this.#bootServers();
    else await this.#parts.get(part)?.boot();
  }

  async #drain(part: string): Promise<void> {
    this.isDraining = true;
    this.#shutdownDeadline ??= performance.now() + this.config.shutdown_seconds * 1000;
    if (part === 'sessions') this.#endClients();
    else if (part === SERVERS) await this.#drainServers();
    else if (part === 'state') await this.#releaseState();
    else await this.#parts.get(part)?.drain(this.#graceMs());
  }

  async #bootState(): Promise<void> {
    const { config } = this;
    const { state = 'own' } = this.#options;
    if (state === 'none') return;
    if (state === 'own') {
      this.#lock = await acquireStateLock(config.state_dir, { listenAddr: config.listen_addr });
    }
    this.#records = new ChildRecords(config.state_dir, identityOf(process.pid), (what) =>
      this.log.warn({}, what),
    );
    for (const { pid, server, wasKilled } of await this.#records.sweep()) {
      this.log.warn(
        { pid, server, was_killed: wasKilled },
        'ended a process that an earlier gateway had left behind',
      );
    }
  }

  async #bootServers(): Promise<void> {
    this.fleet.attach(this.root.system);
    this.fleet.apply(this.#catalog);
    await Promise.all(this.fleet.all().map((server) => server.known.load()));
  }

  async #releaseState(): Promise<void> {
    const written = Promise.all([...this.fleet.everyone()].map(({ known }) => known.flush()));
    await Promise.race([written, new Promise((resolve) => setTimeout(resolve, FLUSH_MS).unref())]);
    await this.#lock?.release();
  }

  #endClients(): void {
    this.crossings.parked.close();
    this.sessions.close();
  }

  #drainServers(): Promise<void> {
    // A server is asked for its eras before its actor has anything to end.
    for (const { eras } of this.fleet.everyone()) eras.kill();
    const supervisor = this.root.getSnapshot().children[SERVERS];
    if (supervisor === undefined || supervisor.getSnapshot().status !== 'active') return Promise.resolve();
    return new Promise((resolve) => {
      supervisor.subscribe({ complete: resolve, error: () => resolve() });
      supervisor.send({ type: 'shutdown' });
    });
  }
}
