// Creates managed servers with the resources that they share: state folder, log, and the memory limits across
// all servers (A6, ARCHITECTURE.md).

import type { ServerEntry } from '../../../config/catalog/catalog-schema.ts';
import { Budget } from '../../base/bounds/budget.ts';
import type { Log } from '../../base/errors/log.ts';
import { Redactor } from '../../base/errors/redact.ts';
import type { StateFolder } from '../../state/state-folder.ts';
import { Installs } from '../installs/installs.ts';
import { ServerInstall } from '../installs/server-install.ts';
import { type MakePlacedLink, makeLink } from '../links/make-link.ts';
import type { GatewayEnvironment } from '../links/stdio/child-env.ts';
import { ServerCache } from './cache/cache.ts';
import { redactedError } from './calls/redacted-error.ts';
import { stderrLevels } from './lines/level.ts';
import { LogMessages } from './lines/log-messages.ts';
import type { RecentLines } from './lines/recent.ts';
import { ALL_LIST_BYTES, ListBudget } from './lists/bounded-list.ts';
import type { ListKind } from './lists/lists.ts';
import { ManagedServer } from './managed-server.ts';
import { SubscriptionBudget } from './notifications/subscription-budget.ts';
import { Subscriptions } from './notifications/subscriptions.ts';
import type { ServerSpec } from './supervised-servers.ts';

export interface ServerSurroundings {
  readonly maxMessageBytes: number;
  readonly version: string;
  readonly environment: GatewayEnvironment;
  readonly log: Log;
  readonly redactor: Redactor;
  readonly stateFolder: StateFolder;
  /** Stores recent lines of the servers for queries by operators. */
  readonly lines: RecentLines;
  /** Returns the grace period for calls in flight when the gateway stops, in milliseconds. */
  readonly graceMs: () => number;
}

/** A server's clients, as seen by the server. */
export interface ServerAudience {
  /** Returns true if a client at /mcp/:id, which sees only this server, has an open stream. */
  isWatched(): boolean;
  /** Called when lists became known or have changed. `isFirst`: these lists were unknown before. */
  onLists(kinds: readonly ListKind[], isFirst: boolean): void;
  /** Notifies the clients at /mcp/:id that lists have changed. */
  announce(kinds: readonly ListKind[]): void;
  /** Called when cached data of the server has changed. */
  onLearned(): void;
}

const noAudience: ServerAudience = {
  isWatched: () => false,
  onLists: () => {},
  announce: () => {},
  onLearned: () => {},
};

export class ServerFactory {
  readonly #surroundings: ServerSurroundings;
  readonly #installs: Installs;
  readonly #subscriptionBudget = new SubscriptionBudget();
  /** Memory budget for all servers' lists, in bytes. */
  readonly #listBudget = new Budget(ALL_LIST_BYTES);
  /** Promises of the cleanups of all processes, which may outlast their servers. */
  readonly #cleanups = new Set<Promise<void>>();

  constructor(surroundings: ServerSurroundings) {
    this.#surroundings = surroundings;
    this.#installs = new Installs(surroundings.log, surroundings.redactor);
  }

  /** Kills the installations. Resolves when their processes have exited. */
  async close(): Promise<void> {
    await this.#installs.close();
  }

  /** Resolves after the cleanup of every process. */
  async whenCleanedUp(): Promise<void> {
    await Promise.all(this.#cleanups);
  }

  /** Creates a server. `makePlaced` is set for servers that may run on another node of the cluster. */
  make(
    { id, entry, hash, wake, previous }: ServerSpec,
    audience = noAudience,
    makePlaced?: MakePlacedLink | undefined,
  ): ManagedServer {
    const { log, redactor, stateFolder, maxMessageBytes, version, environment, lines } = this.#surroundings;
    const ownRedactor = new Redactor(entry.credentials ?? []);
    const cache = new ServerCache(
      stateFolder.listFile(hash),
      audience.onLists,
      (message) => log.warn({ server: id }, redactor.redact(message)),
      audience.onLearned,
      new ListBudget(this.#listBudget),
    );
    // The program of a local server may have to be installed before its start.
    const install =
      entry.runtime === 'stdio'
        ? new ServerInstall({ server: id, entry, environment, installs: this.#installs })
        : undefined;
    const messages = new LogMessages(redactor, (level, text) =>
      lines.add({ kind: 'server', name: id, level, from: 'message', text }),
    );
    // Set by the links of a remote server (DetectedTransport).
    const transport = { isOlder: false };
    return new ManagedServer({
      id,
      entry,
      cache,
      log,
      install,
      clientInfo: { name: 'actor-gateway', version },
      graceMs: this.#surroundings.graceMs,
      tasks: previous !== undefined && isSameRemote(previous.entry, entry) ? previous.tasks : undefined,
      subscriptions: previous?.subscriptions ?? new Subscriptions(this.#subscriptionBudget),
      onErrorAnswer: (answer) => redactedError(answer, ownRedactor),
      makeLink: (events, era) => {
        // Each process has its own, because an indented line has the level of the line above.
        const levelOf = stderrLevels();
        return makeLink(entry, era, events, {
          inputSchemaOf: (tool) => cache.inputSchemaOf(tool),
          server: id,
          transport,
          makePlaced,
          maxMessageBytes,
          redactor,
          ownRedactor,
          environment,
          records: stateFolder.records,
          unfinished: install?.folder,
          newMark: (server) => stateFolder.newMark(server),
          onProcess: (whenGone) => {
            this.#cleanups.add(whenGone);
            void whenGone.then(() => this.#cleanups.delete(whenGone));
          },
          log,
          storeLine: (text) =>
            lines.add({ kind: 'server', name: id, level: levelOf(text), from: 'stderr', text }),
        });
      },
      onLogMessage: (envelope) => messages.accept(envelope),
      wake,
      isWatched: audience.isWatched,
      announce: audience.announce,
    });
  }
}

function isSameRemote(one: ServerEntry, other: ServerEntry): boolean {
  return one.runtime !== 'stdio' && other.runtime !== 'stdio' && one.url === other.url;
}
