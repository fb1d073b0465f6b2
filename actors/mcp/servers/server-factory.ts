// Makes the managed server of a catalog entry, and connects it with what it shares with all others: the state folder, the
// sessions that hear of its changes, and the bounds that hold for all servers together (A6).

import type { ServerEntry } from '../../../config/catalog/catalog-schema.ts';
import { Budget } from '../../base/bounds/budget.ts';
import type { Log } from '../../base/errors/log.ts';
import { Redactor } from '../../base/errors/redact.ts';
import type { StateFolder } from '../../state/state-folder.ts';
import type { Sessions } from '../clients/sessions/sessions.ts';
import { type MakePlacedLink, makeLink } from '../links/make-link.ts';
import { ServerCache } from './cache/server-cache.ts';
import { redactedError } from './calls/redacted-error.ts';
import { stderrLevels } from './lines/line-level.ts';
import { LogMessages } from './lines/log-messages.ts';
import type { RecentLines } from './lines/recent-lines.ts';
import { ALL_LIST_BYTES, ListBudget } from './lists/bounded-list.ts';
import { InvalidTools } from './lists/invalid-tools.ts';
import type { ListKind } from './lists/lists.ts';
import { ManagedServer } from './managed-server.ts';
import { SubscriptionBudget } from './notifications/subscription-budget.ts';
import { Subscriptions } from './notifications/subscriptions.ts';

export interface ServerSurroundings {
  readonly maxMessageBytes: number;
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly redactor: Redactor;
  readonly stateFolder: StateFolder;
  /** Where what they say is kept. */
  readonly lines: RecentLines;
  readonly sessions: Sessions;
  /** Undefined where there is no cluster. */
  readonly makePlaced: MakePlacedLink | undefined;
  /** The time that is left to end in, once the gateway stops. */
  readonly graceMs: () => number;
  /** More, or something else, is known of a server. */
  readonly onLearned: () => void;
}

/** Who hears of a server. */
interface Audience {
  isWatched(): boolean;
  /** Lists of it are known, or are others; `isFirst` where nothing was known of it. */
  onLists(kinds: readonly ListKind[], isFirst: boolean): void;
  announce(kinds: readonly ListKind[]): void;
  onLearned(): void;
}

const nobody: Audience = {
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

  /** `previous` is the server of the same id that this one replaces, if there is one. */
  make(
    id: string,
    entry: ServerEntry,
    hash: string,
    wake: () => void,
    previous: ManagedServer | undefined,
  ): ManagedServer {
    const { sessions, onLearned } = this.#surroundings;
    const { makePlaced } = this.#surroundings;
    return this.#make(id, entry, hash, wake, previous, makePlaced, {
      isWatched: () => sessions.isWatching(id),
      onLists: (kinds, isFirst) => sessions.announce(id, kinds, isFirst),
      announce: (kinds) => sessions.announceAt(id, kinds),
      onLearned,
    });
  }

  /** The same for a server that no client hears of. */
  makeHidden(
    id: string,
    entry: ServerEntry,
    hash: string,
    wake: () => void,
    previous: ManagedServer | undefined,
  ): ManagedServer {
    // Other nodes could not reach it.
    return this.#make(id, entry, hash, wake, previous, undefined, nobody);
  }

  #make(
    id: string,
    entry: ServerEntry,
    hash: string,
    wake: () => void,
    previous: ManagedServer | undefined,
    makePlaced: MakePlacedLink | undefined,
    audience: Audience,
  ): ManagedServer {
    const { log, redactor, stateFolder, maxMessageBytes, version, environment, lines } = this.#surroundings;
    const ownRedactor = new Redactor(entry.credentials ?? []);
    const cache = new ServerCache(
      stateFolder.listFile(hash),
      (kinds, isFirst) => {
        if (kinds.includes('tools')) invalidTools.tell();
        audience.onLists(kinds, isFirst);
      },
      (what) => log.warn({ server: id }, redactor.redact(what)),
      audience.onLearned,
      new ListBudget(this.#listBudget),
    );
    const server: ManagedServer = new ManagedServer({
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
    const messages = new LogMessages(redactor, (level, text) =>
      lines.add({ server: id, level, from: 'message', text }),
    );
    const invalidTools = new InvalidTools(() => server, log);
    return server;
  }
}

function isSameRemote(one: ServerEntry, other: ServerEntry): boolean {
  return one.runtime !== 'stdio' && other.runtime !== 'stdio' && one.url === other.url;
}
