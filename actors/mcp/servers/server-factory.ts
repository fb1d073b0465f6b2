// Makes managed servers with their shared parts: the state folder, the log, and the bounds across all servers (A6).

import type { ServerEntry } from '../../../config/catalog/catalog-schema.ts';
import { Budget } from '../../base/bounds/budget.ts';
import type { Log } from '../../base/errors/log.ts';
import { Redactor } from '../../base/errors/redact.ts';
import type { StateFolder } from '../../state/state-folder.ts';
import { type MakePlacedLink, makeLink } from '../links/make-link.ts';
import { ServerCache } from './cache/server-cache.ts';
import { redactedError } from './calls/redacted-error.ts';
import { stderrLevels } from './lines/line-level.ts';
import { LogMessages } from './lines/log-messages.ts';
import type { RecentLines } from './lines/recent-lines.ts';
import { ALL_LIST_BYTES, ListBudget } from './lists/bounded-list.ts';
import type { ListKind } from './lists/lists.ts';
import { ManagedServer } from './managed-server.ts';
import { SubscriptionBudget } from './notifications/subscription-budget.ts';
import { Subscriptions } from './notifications/subscriptions.ts';
import type { ServerSpec } from './supervised-servers.ts';

export interface ServerSurroundings {
  readonly maxMessageBytes: number;
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly redactor: Redactor;
  readonly stateFolder: StateFolder;
  /** Where what they say is kept. */
  readonly lines: RecentLines;
  /** The time that is left to end in, once the gateway stops. */
  readonly graceMs: () => number;
}

/** Receives the notifications of a server for clients. */
export interface ServerAudience {
  isWatched(): boolean;
  /** Lists became known, or have changed; `isFirst` where nothing was known of the server. */
  onLists(kinds: readonly ListKind[], isFirst: boolean): void;
  announce(kinds: readonly ListKind[]): void;
  /** More, or something else, is known of the server. */
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
  readonly #subscriptionBudget = new SubscriptionBudget();
  /** In bytes, for the lists of all servers together. */
  readonly #listBudget = new Budget(ALL_LIST_BYTES);

  constructor(surroundings: ServerSurroundings) {
    this.#surroundings = surroundings;
  }

  /** `makePlaced` is for servers that other nodes can reach. */
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
      (what) => log.warn({ server: id }, redactor.redact(what)),
      audience.onLearned,
      new ListBudget(this.#listBudget),
    );
    const messages = new LogMessages(redactor, (level, text) =>
      lines.add({ server: id, level, from: 'message', text }),
    );
    return new ManagedServer({
      id,
      entry,
      cache,
      log,
      clientInfo: { name: 'actor-gateway', version },
      graceMs: this.#surroundings.graceMs,
      tasks: previous !== undefined && isSameRemote(previous.entry, entry) ? previous.tasks : undefined,
      subscriptions: previous?.subscriptions ?? new Subscriptions(this.#subscriptionBudget),
      onErrorAnswer: (answer) => redactedError(answer, ownRedactor),
      makeLink: (events, era) => {
        const levelOf = stderrLevels();
        return makeLink(entry, era, events, {
          inputSchemaOf: (tool) => cache.inputSchemaOf(tool),
          server: id,
          makePlaced,
          maxMessageBytes,
          redactor,
          ownRedactor,
          environment,
          records: stateFolder.records,
          newMark: (server) => stateFolder.newMark(server),
          log,
          keepLine: (text) => lines.add({ server: id, level: levelOf(text), from: 'stderr', text }),
        });
      },
      onLogMessage: (envelope) => messages.take(envelope),
      wake,
      isWatched: audience.isWatched,
      announce: audience.announce,
    });
  }
}

function isSameRemote(one: ServerEntry, other: ServerEntry): boolean {
  return one.runtime !== 'stdio' && other.runtime !== 'stdio' && one.url === other.url;
}
