// Makes the managed server of a catalog entry, and connects it with what it shares with all others: the state folder, the
// sessions that hear of its changes, and the bounds that hold for all servers together (A6).

import type { ServerEntry } from '../../config/catalog/catalog-schema.ts';
import { Budget } from '../budget.ts';
import { EVERY_SERVER, type Sessions } from '../client/sessions/sessions.ts';
import type { Log } from '../log.ts';
import type { Redactor } from '../redact.ts';
import { ServerCache } from '../server/cache/server-cache.ts';
import { redactedError } from '../server/calls/redacted-error.ts';
import { ALL_LIST_BYTES, ListBudget } from '../server/lists/bounded-list.ts';
import { InvalidTools } from '../server/lists/invalid-tools.ts';
import { ManagedServer } from '../server/managed-server.ts';
import { SubscriptionBudget } from '../server/notifications/subscription-budget.ts';
import { Subscriptions } from '../server/notifications/subscriptions.ts';
import type { StateFolder } from '../state/state-folder.ts';
import { makeLink } from '../upstream/make-link.ts';

export interface ServerSurroundings {
  readonly maxMessageBytes: number;
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly redactor: Redactor;
  readonly stateFolder: StateFolder;
  readonly sessions: Sessions;
  /** The time that is left to end in, once the gateway stops. */
  readonly graceMs: () => number;
  /** More, or something else, is known of a server. */
  readonly onLearned: () => void;
}

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
    const { log, redactor, sessions, stateFolder, maxMessageBytes, version, environment } =
      this.#surroundings;
    const cache = new ServerCache(
      stateFolder.listFile(hash),
      (kinds, isFirst) => {
        if (kinds.includes('tools')) invalidTools.tell();
        sessions.announce(isFirst ? EVERY_SERVER : id, kinds, isFirst);
      },
      (what) => log.warn({ server: id }, redactor.redact(what)),
      this.#surroundings.onLearned,
      new ListBudget(this.#listBudget),
    );
    const server: ManagedServer = new ManagedServer({
      id,
      entry,
      cache,
      log,
      clientInfo: { name: 'actor-gateway', version },
      graceMs: this.#surroundings.graceMs,
      subscriptions: previous?.subscriptions ?? new Subscriptions(this.#subscriptionBudget),
      onErrorAnswer: (answer) => redactedError(answer, redactor),
      makeLink: (events, era) =>
        makeLink(entry, era, events, {
          inputSchemaOf: (tool) => cache.inputSchemaOf(tool),
          server: id,
          maxMessageBytes,
          redactor,
          environment,
          records: stateFolder.records,
          newMark: (server) => stateFolder.newMark(server),
          log,
        }),
      wake,
      isWatched: () => sessions.isWatching(id),
      announce: (kinds) => sessions.announceAt(id, kinds),
    });
    const invalidTools = new InvalidTools(() => server, log);
    return server;
  }
}
