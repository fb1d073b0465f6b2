// The MCP part of the gateway: the servers (ServerSide) and their clients (ClientSide). Applies the catalog
// and the profiles at startup and on reloads.

import type { Catalog } from '../../config/catalog/catalog-schema.ts';
import type { ProfileEntries } from '../../config/gateway-file/profile-schema.ts';
import type { GatewayError } from '../base/errors/errors.ts';
import type { Part } from '../base/supervision/part.ts';
import { within } from '../base/time/within.ts';
import type { StateFolder } from '../state/state-folder.ts';
import { ClientSide, type ClientSideOptions } from './client-side.ts';
import { loadToolFilters } from './clients/aggregate/tool-filter.ts';
import { applyToClients } from './clients/profiles/clients.ts';
import { patternsOf } from './clients/profiles/filter.ts';
import type { ProfileDifference } from './clients/profiles/profiles.ts';
import type { SessionStorage } from './clients/sessions/stored-sessions.ts';
import type { MakePlacedLink } from './links/make-link.ts';
import { ServerSide, type ServerSideOptions } from './server-side.ts';
import type { CatalogDifference, CatalogProgress } from './servers/catalog-servers.ts';
import type { RecentLines } from './servers/lines/recent.ts';
import { ServerRegistry } from './servers/server-registry.ts';
import type { SupervisedServers } from './servers/supervised-servers.ts';

/** Options that this class creates for its two sides. */
type CreatedOptions =
  | 'registry'
  | 'sessions'
  | 'servers'
  | 'makePlaced'
  | 'maxMessageBytes'
  | 'peers'
  | 'sessionStorage';

export interface McpSideOptions
  extends Omit<ServerSideOptions, CreatedOptions>,
    Omit<ClientSideOptions, CreatedOptions | 'log' | 'redactor'> {
  readonly catalog: Catalog;
  readonly stateFolder: StateFolder;
  /** Undefined outside a cluster. */
  readonly cluster:
    | {
        readonly makePlaced: MakePlacedLink;
        readonly peers: ClientSideOptions['peers'];
        /** Records of sessions in the database of the cluster. */
        readonly sessionRows: SessionStorage;
        /** Calls the listener when this node has rejoined the cluster after a disconnection. */
        onRejoined(listener: () => void): void;
      }
    | undefined;
}

/** Maximum time for the last writes of the caches. */
const FLUSH_MS = 1_000;
/** Time for the cleanup of processes after the grace period for calls. */
const CLEANUP_MS = 2_500;

export class McpSide implements Part {
  readonly servers = new ServerRegistry();
  readonly clients: ClientSide;
  /** Recent output of the servers, and log lines. */
  readonly lines: RecentLines;
  readonly #serverSide: ServerSide;
  readonly #options: McpSideOptions;
  #profileEntries: ProfileEntries;

  constructor(options: McpSideOptions) {
    const { config, cluster, stateFolder } = options;
    const { servers } = this;
    this.#options = options;
    this.#profileEntries = config.profiles;
    this.lines = options.lines;
    const sessionStorage = cluster?.sessionRows ?? stateFolder.sessions;
    this.clients = new ClientSide({ ...options, servers, peers: cluster?.peers, sessionStorage });
    cluster?.onRejoined(() => void this.clients.restorer.verify());
    this.#serverSide = new ServerSide({
      ...options,
      registry: servers,
      sessions: this.clients.sessions,
      makePlaced: cluster?.makePlaced,
      maxMessageBytes: config.limits.message_bytes,
    });
  }

  /** Private servers of agents: not listed, not reachable by clients, not changed by the catalog. */
  get agentServers(): SupervisedServers {
    return this.#serverSide.ofAgents;
  }

  /** Supervises the servers of the catalog. */
  get catalogServers(): SupervisedServers {
    return this.#serverSide.ofCatalog;
  }

  /** Creates the servers and profiles at startup. */
  async boot(): Promise<void> {
    await this.#apply(this.#options.catalog, this.#profileEntries);
    // Deletes cache files of catalog entries that no longer exist.
    this.#options.stateFolder.sweepLists();
  }

  /** Progress of a running reload; undefined without one. */
  get reloadProgress(): CatalogProgress | undefined {
    return this.#serverSide.catalogProgress;
  }

  /** Applies the changes of the catalog and the profiles. Untouched servers keep processes and sessions. */
  async reload(
    catalog: Catalog,
    profiles: ProfileEntries = this.#profileEntries,
  ): Promise<CatalogDifference> {
    this.#profileEntries = profiles;
    const applied = await this.#apply(catalog, profiles);
    await this.#serverSide.announce(applied.servers);
    applyToClients(applied.profiles, { sessions: this.clients.sessions, servers: this.servers });
    this.#options.stateFolder.sweepLists();
    this.#learnIfConfigured();
    return applied.servers;
  }

  /** Called when the gateway accepts requests. */
  onServing(): void {
    this.#learnIfConfigured();
  }

  /** Fetches unknown lists in the background, if configured (`learn: at_start`). */
  #learnIfConfigured(): void {
    if (this.#options.config.learn === 'at_start') this.clients.view.discovery.learn();
  }

  /**
   * Stops the servers and writes their caches to the state folder. Waits for the cleanup of servers that have
   * just failed, because their containers would otherwise outlive the gateway.
   */
  async drain(): Promise<void> {
    await this.#serverSide.drain();
    const cleanupMs = this.#options.graceMs() + CLEANUP_MS;
    await Promise.all([
      within(FLUSH_MS, this.#serverSide.flush()),
      within(cleanupMs, this.#serverSide.whenCleanedUp()),
    ]);
  }

  /** Kills all processes immediately; used when the shutdown fails or times out. */
  kill(): void {
    this.#serverSide.kill();
  }

  /** Fails all calls, queued and sent, with this error. The servers keep running. */
  failCalls(error: GatewayError): void {
    this.#serverSide.failCalls(error);
  }

  async #apply(
    catalog: Catalog,
    profiles: ProfileEntries,
  ): Promise<{ readonly servers: CatalogDifference; readonly profiles: ProfileDifference }> {
    const serverPatterns = Object.values(catalog.servers).map(({ tools }) => tools);
    await loadToolFilters([...serverPatterns, ...Object.values(profiles).map(patternsOf)]);
    const difference = await this.#serverSide.apply(catalog);
    const profileDifference = this.clients.profiles.apply(profiles, catalog);
    await this.#serverSide.load(difference);
    return { servers: difference, profiles: profileDifference };
  }
}
