// The gateway as a library: servers, client sessions and the way between them, without any front end. A front end
// hands messages in and gets them back through an Outlet; src/http does so for HTTP.

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Catalog } from '../../config/catalog/catalog-schema.ts';
import { ConfigHash, type ConfigPrints } from '../../config/config-hash.ts';
import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';
import type { ProfileEntries } from '../../config/gateway-file/profile-schema.ts';
import { forEachLimited } from '../base/bounds/for-each-limited.ts';
import { type GatewayError, StoppedError, UnknownServerError } from '../base/errors/errors.ts';
import type { Log } from '../base/errors/log.ts';
import { Redactor } from '../base/errors/redact.ts';
import type { Part, RootRef } from '../base/supervision/part.ts';
import { drainSupervisor } from '../base/supervision/supervision.ts';
import { StartTime } from '../base/time/start-time.ts';
import type { ClusterHost, ClusterPart } from '../cluster/cluster-part.ts';
import type { NodeStatus } from '../cluster/node-list.ts';
import { Aggregate } from '../mcp/clients/aggregate/aggregate.ts';
import { Discovery } from '../mcp/clients/aggregate/discovery.ts';
import { loadToolFilters } from '../mcp/clients/aggregate/tool-filter.ts';
import { EraBridge } from '../mcp/clients/eras/era-bridge.ts';
import {
  InProcessClient,
  type InProcessOptions,
  type Tool,
  type ToolResult,
} from '../mcp/clients/in-process-client.ts';
import { MessageRouter } from '../mcp/clients/message-router.ts';
import { applyToClients } from '../mcp/clients/profiles/profile-clients.ts';
import { patternsOf } from '../mcp/clients/profiles/profile-filter.ts';
import { Profiles } from '../mcp/clients/profiles/profiles.ts';
import { Forwarder } from '../mcp/clients/routing/forwarder.ts';
import { InFlightLimiter } from '../mcp/clients/routing/in-flight-limiter.ts';
import { ToolSearch } from '../mcp/clients/search/tool-search.ts';
import { EVERY_SERVER, Sessions } from '../mcp/clients/sessions/sessions.ts';
import type { CallOwner } from '../mcp/servers/calls/call-owner.ts';
import { keptLog } from '../mcp/servers/lines/kept-log.ts';
import { RecentLines } from '../mcp/servers/lines/recent-lines.ts';
import { everyListKind } from '../mcp/servers/lists/lists.ts';
import type { ManagedServer } from '../mcp/servers/managed-server.ts';
import { ServerFactory } from '../mcp/servers/server-factory.ts';
import { type CatalogDifference, SERVERS, ServerRegistry } from '../mcp/servers/server-registry.ts';
import { SupervisedServers } from '../mcp/servers/supervised-servers.ts';
import { StateFolder } from '../state/state-folder.ts';
import { type OpenStore, StorePart } from '../store/store-part.ts';
import { Life, REAP_MS } from './life.ts';

export interface GatewayOptions {
  readonly config: GatewayConfig;
  readonly catalog: Catalog;
  /** Values that must never be shown. */
  readonly secrets: readonly string[];
  /** Redacts the log as well, and receives the secrets. @default one of its own */
  readonly redactor?: Redactor;
  readonly log: Log;
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Parts that boot after the gateway's own and are drained before them. */
  readonly parts?: readonly Part[];
  /**
   * The state folder: `own` takes it for this process alone, `shared` lives beside its owner and others like itself,
   * `none` keeps nothing there, for a catalog that starts no process. @default 'own'
   */
  readonly state?: 'own' | 'shared' | 'none';
  /** Makes the store, when something needs it; without it there is none. Its folder is this process's own. */
  readonly openStore?: OpenStore | undefined;
  /** Where the store is shared with other gateways. */
  readonly cluster?: ((host: ClusterHost) => ClusterPart) | undefined;
  /** Of the files of the configuration, for nodes to be compared by. */
  readonly prints?: Partial<ConfigPrints> | undefined;
}

const FILES_AT_A_TIME = 8;
const AGENT_SERVERS = 'agent servers';

export class Gateway {
  readonly config: GatewayConfig;
  readonly version: string;
  readonly log: Log;
  readonly redactor: Redactor;
  readonly servers: ServerRegistry;
  /** Those of agents, which nobody else reaches: in no list, at no address, and untouched by the catalog. */
  readonly agentServers: SupervisedServers;
  readonly sessions: Sessions;
  readonly aggregate: Aggregate;
  readonly discovery: Discovery;
  /** Parts of the servers with addresses of their own. */
  readonly profiles: Profiles;
  readonly eraBridge = new EraBridge();
  readonly forwarder: Forwarder;
  /** Set under `expose: search`. */
  readonly search: ToolSearch | undefined;
  /** The way of every message of a client, whatever brought it here. */
  readonly router: MessageRouter;
  readonly #inProcess = new InProcessClient(this);
  /** Where accepted events live; opened by the first that needs it. */
  readonly store: StorePart;
  /** Set where the store is shared with other gateways. */
  readonly cluster: ClusterPart | undefined;
  /** Of the configuration in use. */
  readonly configHash: ConfigHash;
  /** What the servers said last, and what was logged about them. */
  readonly lines = new RecentLines();
  readonly beginning = new StartTime();
  /** How it introduces itself to clients that see all servers as one. */
  readonly serverInfo: { readonly name: string; readonly title: string; readonly version: string };

  readonly #stateFolder: StateFolder;
  /** Boots and drains the parts, and finds their actors. */
  readonly life: Life;
  readonly #parts: readonly Part[];
  readonly #serverFactory: ServerFactory;
  #catalog: Catalog;
  #profileEntries: ProfileEntries;
  /** Of what is known of all servers together: to ask each of a thousand would cost more than what is made of it. */
  #revision = 0;

  constructor(options: GatewayOptions) {
    const { config } = options;
    this.#catalog = options.catalog;
    this.#profileEntries = config.profiles;
    this.config = config;
    this.version = options.version;
    this.serverInfo = { name: 'actor-gateway', title: 'actor-gateway', version: options.version };
    this.redactor = options.redactor ?? new Redactor([]);
    this.redactor.add(...options.secrets);
    const log = keptLog(options.log, this.lines, this.redactor);
    this.log = log;
    const shutdownMs = config.shutdown_seconds * 1000 + REAP_MS + 1000;
    const life = new Life(config.shutdown_seconds * 1000);
    this.life = life;
    this.#parts = options.parts ?? [];
    this.servers = new ServerRegistry({
      log,
      life,
      shutdownMs,
      make: (...what) => this.#serverFactory.make(...what),
      onLeft: (server) => this.#onServerLeft(server),
    });
    this.agentServers = new SupervisedServers({
      name: AGENT_SERVERS,
      log,
      life,
      shutdownMs,
      make: (...what) => this.#serverFactory.makeHidden(...what),
    });
    this.#stateFolder = new StateFolder({
      stateDir: config.state_dir,
      kind: options.state ?? 'own',
      listenAddr: config.listen_addr,
      environment: options.environment,
      log,
      usedHashes: () => new Set([...this.servers.supervised.hashes(), ...this.agentServers.hashes()]),
    });
    this.store = new StorePart({
      config,
      log,
      open: options.openStore,
      onFailed: (error) => life.fail(this.store.name, error),
      isEnding: () => life.isEnding,
    });
    this.configHash = new ConfigHash(options.prints);
    this.cluster = options.cluster?.(this);
    const servers = () => this.servers.all();
    this.aggregate = new Aggregate(servers, () => this.#revision);
    const tagsOf = (id: string) => this.#catalog.servers[id]?.tags ?? [];
    this.search =
      config.expose === 'search' ? new ToolSearch({ aggregate: this.aggregate, tagsOf }) : undefined;
    this.discovery = new Discovery(this.aggregate);
    this.profiles = new Profiles({
      servers,
      revision: () => this.#revision,
      tagsOf: this.search === undefined ? undefined : tagsOf,
    });
    const inFlight = new InFlightLimiter(config.limits.in_flight, config.limits.body_bytes);
    this.forwarder = new Forwarder(inFlight, this.eraBridge);
    this.sessions = new Sessions({
      maxSessions: config.limits.sessions,
      idleMs: config.limits.session_idle_seconds * 1000,
      log,
      onEnd: (session) => this.release(session),
      profiles: () => this.profiles.all(),
      newId: () => this.cluster?.reach?.sealed.newSessionId() ?? randomUUID(),
    });
    this.router = new MessageRouter(this);
    this.#serverFactory = new ServerFactory({
      maxMessageBytes: config.limits.message_bytes,
      version: options.version,
      environment: options.environment,
      log,
      redactor: this.redactor,
      stateFolder: this.#stateFolder,
      lines: this.lines,
      makePlaced: this.cluster?.makePlaced,
      sessions: this.sessions,
      graceMs: () => life.graceMs,
      onLearned: () => {
        this.#revision += 1;
      },
    });
  }

  /** Root of the actor tree; undefined before the start. */
  get root(): RootRef | undefined {
    return this.life.root;
  }

  get isDraining(): boolean {
    return this.life.isEnding;
  }

  /** The gateways that share the store, as they are known here; this one alone where it is shared with none. */
  get nodes(): readonly NodeStatus[] {
    if (this.cluster !== undefined) return this.cluster.nodes;
    const { version, configHash, isDraining } = this;
    const state = isDraining ? ('draining' as const) : ('running' as const);
    return [{ name: this.nodeName, state, epoch: 0, version, config_hash: configHash.hash }];
  }

  /** What this one is called among them. */
  get nodeName(): string {
    return this.config.node.name ?? hostname();
  }

  /**
   * Boots the gateway's own parts, those of its options, and `parts`; rejects with the first reason that a part cannot, and then
   * nothing is left running.
   */
  async start(parts: readonly Part[] = []): Promise<void> {
    const all = [...this.#ownParts(), ...this.#parts, ...parts];
    await this.life.start(all, this.servers.supervised.supervisorInput());
    if (this.config.learn === 'at_start') this.discovery.learn();
  }

  /** Drains everything in reverse order within `shutdown_seconds`. */
  stop(): Promise<void> {
    // Whoever waits for lists is given those that are known.
    this.discovery.close();
    this.profiles.close();
    void this.cluster?.tellDraining();
    return this.life.stop();
  }

  /** Calls back when the actor tree fails for good while serving; the process has to end then. */
  whenFailed(listener: (error: unknown) => void): void {
    this.life.whenFailed(listener);
  }

  /** Events that were sent to actors which had ended. */
  get deadLetters(): number {
    return this.life.deadLetters;
  }

  /** The very last resort: kills every process at once. */
  kill(): void {
    const error = new StoppedError('the gateway was stopped at once');
    for (const { handle, pool, eras } of this.#everyone()) {
      // First, or a call that waits would have another process started.
      handle.close();
      eras.kill();
      pool.kill(error);
    }
  }

  /** Ends every call, waiting or sent, with the same error; the servers stay as they are. */
  failCalls(error: GatewayError): void {
    for (const { handle, pool, eras } of this.#everyone()) {
      eras.kill();
      handle.failWaiting(() => true, error);
      for (const member of pool.members) member.connection.failAll(error);
    }
  }

  /**
   * Calls a tool of a server, which is started where it does not run, and gives the result as the server gave it. Rejects with
   * a GatewayError where there is none, with an RpcFault where the server refused the request, or for what `signal` was
   * aborted; a tool that has failed is a result with `isError`.
   */
  call(
    server: string,
    tool: string,
    args: Readonly<Record<string, unknown>> = {},
    options: Omit<InProcessOptions, 'server'> = {},
  ): Promise<ToolResult> {
    return this.#inProcess.callTool(tool, args, { ...options, server });
  }

  /** The tools of a server, as it lists them. Rejects as `call` does. */
  tools(server: string, options: Omit<InProcessOptions, 'server'> = {}): Promise<readonly Tool[]> {
    return this.#inProcess.listTools({ ...options, server });
  }

  /** The server of that id. Throws UnknownServerError. */
  server(id: string): ManagedServer {
    const server = this.servers.get(id);
    if (server !== undefined) return server;
    throw new UnknownServerError(
      `there is no server ${JSON.stringify(id.slice(0, 64))} in the catalog; GET /servers lists them`,
    );
  }

  /**
   * Makes the running servers what the catalog says, and the profiles what the gateway file says. Untouched ones keep
   * processes and sessions.
   */
  async reload(
    catalog: Catalog,
    secrets: readonly string[],
    profiles: ProfileEntries = this.#profileEntries,
    prints: Partial<ConfigPrints> = {},
  ): Promise<CatalogDifference> {
    await loadFilters(catalog, profiles);
    this.redactor.add(...secrets);
    this.#catalog = catalog;
    this.#profileEntries = profiles;
    const difference = this.servers.apply(catalog);
    const profileDifference = this.profiles.apply(profiles, catalog);
    const fresh = [...difference.added, ...difference.changed];
    await loadKnown(fresh.flatMap((id) => this.servers.get(id) ?? []));
    for (const id of fresh) this.sessions.announce(id, everyListKind);
    if (difference.removed.length > 0) this.sessions.announce(EVERY_SERVER, everyListKind);
    applyToClients(profileDifference, this);
    this.configHash.use(prints);
    this.#stateFolder.sweepLists();
    if (this.config.learn === 'at_start') this.discovery.learn();
    this.log.info(difference, 'catalog reloaded');
    return difference;
  }

  #onServerLeft({ id, subscriptions }: ManagedServer): () => void {
    const { youngest } = this.sessions;
    return () => {
      this.sessions.endAllOf(id, youngest, `server ${id} left the catalog`);
      subscriptions.releaseAll();
    };
  }

  /** A client is over: no server keeps anything for it any more. */
  release(session: CallOwner & { readonly target: string | undefined }): void {
    if (session.target === undefined) for (const server of this.servers.all()) server.release(session);
    else this.servers.get(session.target)?.release(session);
  }

  #ownParts(): readonly Part[] {
    return [
      {
        name: 'state',
        boot: () => this.#stateFolder.begin(),
        drain: () => this.#stateFolder.end(this.#flush()),
      },
      this.store,
      ...(this.cluster === undefined ? [] : [this.cluster]),
      { name: SERVERS, boot: () => this.#bootServers(), drain: () => this.#drainServers() },
      { name: 'sessions', boot: async () => {}, drain: async () => this.#endClients() },
    ];
  }

  async #bootServers(): Promise<void> {
    await loadFilters(this.#catalog, this.#profileEntries);
    this.servers.apply(this.#catalog);
    this.profiles.apply(this.#profileEntries, this.#catalog);
    await loadKnown(this.servers.all());
    this.#stateFolder.sweepLists();
  }

  #flush(): Promise<unknown> {
    return Promise.all([...this.#everyone()].map(({ cache }) => cache.flush()));
  }

  #endClients(): void {
    this.eraBridge.suspended.close();
    this.sessions.close();
  }

  async #drainServers(): Promise<void> {
    // A server is asked for its eras before its actor has anything to end.
    for (const { eras } of this.#everyone()) eras.kill();
    const names = [this.servers.supervised.name, this.agentServers.name];
    await Promise.all(names.map((name) => drainSupervisor(this.life.find(name))));
  }

  /** Those included that are on their way out. */
  *#everyone(): Iterable<ManagedServer> {
    yield* this.servers.supervised.everyone();
    yield* this.agentServers.everyone();
  }
}

function loadFilters(catalog: Catalog, profiles: ProfileEntries): Promise<void> {
  const ofServers = Object.values(catalog.servers).map(({ tools }) => tools);
  return loadToolFilters([...ofServers, ...Object.values(profiles).map(patternsOf)]);
}

/** A few files at a time: they may be large, and only what is taken from them is counted. */
function loadKnown(servers: readonly ManagedServer[]): Promise<void> {
  return forEachLimited(FILES_AT_A_TIME, servers, ({ cache }) => cache.load());
}
