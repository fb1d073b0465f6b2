// All client sessions: creates, finds and sweeps them, and notifies those that a change concerns. One timer serves them
// all. Clients of the modern era have none; those that listen are kept here as well, since they get the same
// notifications.
//
// K1 (A8)  at most `limits.sessions` exist, listening clients included; beyond that a new one is refused, and no other pays
//          for it.
// K2       a session that was not in use for `session_idle_seconds` is ended within one sweep.
// K3       many changes of lists within a moment become one notice per kind; at /mcp it comes only to those who were shown
//          another list than there is now (list-changes.ts).
// K4 (A8)  what clients say of themselves is bounded over all: what is small by their number, what is larger by a budget. Who
//          finds no room in that is refused, and nobody whose description is small.

import { randomUUID } from 'node:crypto';
import { Budget } from '../../../base/bounds/budget.ts';
import { type GatewayError, OverloadedError } from '../../../base/errors/errors.ts';
import type { Log } from '../../../base/errors/log.ts';
import { isSamePrincipal, type Principal } from '../../../identity/principal.ts';
import { notificationMessage } from '../../jsonrpc/compose.ts';
import type { ConnectionEnd } from '../../servers/calls/call-owner.ts';
import { type ListKind, listKinds } from '../../servers/lists/lists.ts';
import { ListChanges, type ListCompleteness, ListCopies } from '../aggregate/list-changes.ts';
import type { ClientDescription } from '../client-description.ts';
import type { Endpoint, Profile } from '../profiles/profile.ts';
import type { ListenStream } from './listen-stream.ts';
import { ReplayBudget } from './replay-budget.ts';
import { ClientSession, type SessionOptions } from './session.ts';

const MAX_SWEEP_MS = 30_000;
/** A description up to this is bounded by the number of clients; 40 MB for ten thousand. */
const SMALL_BYTES = 4_096;
const LARGE_TOTAL_BYTES = 16 * 1024 * 1024;
const COALESCE_MS = 50;

/** Stands for the aggregate in `announce`; no server has this id. */
export const EVERY_SERVER = '';

export interface SessionsOptions {
  readonly maxSessions: number;
  readonly idleMs: number;
  readonly log: Log;
  /** A session has ended: what servers keep for it can be removed. */
  readonly onEnd: (session: ClientSession) => void;
  /** Those there are. */
  readonly profiles?: () => Iterable<Profile>;
  /** Nobody can guess what it gives. @default randomUUID */
  readonly newId?: () => string;
}

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #byId = new Map<string, ClientSession>();
  readonly #listening = new Set<ListenStream>();
  readonly #replays = new ReplayBudget();
  readonly #descriptions = new Budget(LARGE_TOTAL_BYTES);
  readonly #sweep: NodeJS.Timeout;
  /** How many sessions there have been. */
  #count = 0;
  /** What sessions at /mcp/:id are to be told: the servers with changes, by the list. */
  readonly #announced = new Map<ListKind, Set<string>>();
  /** What those at /mcp are to be told. */
  readonly #listChanges = new ListChanges();
  #announcing: NodeJS.Timeout | undefined;

  constructor(options: SessionsOptions) {
    this.#options = options;
    const sweepMs = Math.max(50, Math.min(MAX_SWEEP_MS, options.idleMs / 2));
    this.#sweep = setInterval(() => {
      this.#endIdle();
      this.#replays.sweep();
    }, sweepMs).unref();
  }

  /** Modern clients that listen; each takes a place as a session does. */
  get listens(): number {
    return this.#listening.size;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** The number of the latest session or listening client. */
  get youngest(): number {
    return this.#count;
  }

  all(): Iterable<ClientSession> {
    return this.#byId.values();
  }

  /** Sessions and clients that listen, by their numbers: the oldest first, and a new one always last. */
  *inOrder(): Generator<ClientSession | ListenStream> {
    const listening = this.#listening.values();
    let next = listening.next();
    for (const session of this.#byId.values()) {
      for (; next.done !== true && next.value.number < session.number; next = listening.next())
        yield next.value;
      yield session;
    }
    for (; next.done !== true; next = listening.next()) yield next.value;
  }

  /** Throws OverloadedError when there are too many sessions, or their descriptions take too much memory. */
  create(options: Omit<SessionOptions, 'id' | 'replays' | 'onParting'>): ClientSession {
    this.#admit();
    const session = new ClientSession({
      ...options,
      id: this.#options.newId?.() ?? randomUUID(),
      replays: this.#replays,
      onParting: (parted, server, why, error) => this.#onParting(parted, server, why, error),
    });
    this.#take(session.description);
    session.number = ++this.#count;
    if (session.target === undefined) session.lists = new ListCopies(this.#changesFor(session).count);
    this.#byId.set(session.id, session);
    return session;
  }

  /** Keeps a client that listens, until `forget`. Throws as `create` does. */
  addListening(listening: ListenStream): void {
    this.#admit();
    this.#take(listening.description);
    listening.number = ++this.#count;
    listening.heardAt = this.#changesFor(listening).count;
    this.#listening.add(listening);
  }

  forgetListening(listening: ListenStream): void {
    if (this.#listening.delete(listening)) this.#give(listening.description);
  }

  /** Ends the streams that are open for listening only; their clients come back to the next gateway. */
  closeStreams(): void {
    for (const session of this.#byId.values()) session.closeStream();
    for (const listening of [...this.#listening]) listening.end();
  }

  /** The live session of that id: one of another server or profile, or of another principal, is unknown. */
  find(id: string, { server, profile }: Endpoint, principal: Principal): ClientSession | undefined {
    const session = this.#byId.get(id);
    if (session === undefined || session.target !== server?.id || session.profile !== profile)
      return undefined;
    // Only tokens make a principal per request.
    const isOwner = session.principal === principal || isSamePrincipal(session.principal, principal);
    return isOwner ? session : undefined;
  }

  end(session: ClientSession, why: string): void {
    if (!this.#byId.delete(session.id)) return;
    this.#give(session.description);
    session.end(why);
    this.#options.onEnd(session);
  }

  /** A client listens that hears of this server only. */
  isWatching(server: string): boolean {
    for (const session of this.#byId.values())
      if (session.target === server && session.hasOpenStream) return true;
    for (const listening of this.#listening) if (listening.target === server) return true;
    return false;
  }

  /**
   * The lists of a server are others; for EVERY_SERVER only those at /mcp can know. `isFirst`: they were not known before,
   * which is nothing to those who see the server alone.
   */
  announce(server: string, kinds: readonly ListKind[], isFirst = false): void {
    this.#listChanges.add(kinds, isFirst);
    for (const profile of this.#options.profiles?.() ?? [])
      if (profile.has(server)) profile.changes.add(kinds, isFirst);
    this.announceAt(isFirst ? EVERY_SERVER : server, kinds);
  }

  /** A profile has other servers or tools than before. */
  announceIn({ changes }: Profile, kinds: readonly ListKind[]): void {
    changes.add(kinds, false);
    this.#tellSoon();
  }

  /** A server says that its lists have changed: clients of this server alone are notified. */
  announceAt(server: string, kinds: readonly ListKind[]): void {
    for (const kind of kinds) {
      const servers = this.#announced.get(kind) ?? new Set();
      this.#announced.set(kind, servers.add(server));
    }
    this.#tellSoon();
  }

  /** To be called when a session can hear, on a new stream say, what it has missed of changes. */
  tellMissed(session: ClientSession): void {
    if (session.lists?.isDue(this.#changesFor(session)) === true) this.#tellSoon();
  }

  /** A client asks for a merged list, the whole of it; to be called when that is over. */
  asksForList(
    session: ClientSession | undefined,
    kind: ListKind,
    profile?: Profile,
  ): (answer: ListCompleteness) => void {
    const changes = this.#changesFor({ profile });
    session?.lists?.ask(kind);
    return (answer) => {
      if (session === undefined && answer !== 'none') changes.gave(kind);
      session?.lists?.end(kind, changes, answer);
      // It may have missed a change meanwhile.
      if (session !== undefined) this.tellMissed(session);
    };
  }

  /**
   * Ends the sessions of a server that has left the catalog, and the clients that listen to it, up to the number
   * `youngest`: those that have come since are its successor's.
   */
  endAllOf(server: string, youngest: number, why: string): void {
    const isOf = ({ target, number }: ClientSession | ListenStream) =>
      target === server && number <= youngest;
    for (const session of [...this.#byId.values()]) if (isOf(session)) this.end(session, why);
    for (const listening of [...this.#listening]) if (isOf(listening)) listening.end();
  }

  close(): void {
    clearInterval(this.#sweep);
    clearTimeout(this.#announcing);
    for (const session of [...this.#byId.values()]) this.end(session, 'the gateway is stopping');
    for (const listening of [...this.#listening]) listening.end();
  }

  #admit(): void {
    const { maxSessions } = this.#options;
    if (this.#byId.size + this.#listening.size >= maxSessions) this.#endIdle();
    if (this.#byId.size + this.#listening.size < maxSessions) return;
    throw new OverloadedError(
      `there are ${maxSessions} client sessions and listens already; end some, or raise limits.sessions`,
    );
  }

  /** K4 */
  #take({ bytes, share }: ClientDescription): void {
    if (bytes <= SMALL_BYTES || this.#descriptions.take(bytes, share)) return;
    this.#endIdle();
    if (this.#descriptions.take(bytes, share)) return;
    throw new OverloadedError(
      `there is no room for a client that says ${bytes} bytes of itself: what such clients say holds ` +
        `${this.#descriptions.taken} of ${this.#descriptions.total} bytes; up to ${SMALL_BYTES} are always taken`,
    );
  }

  #give({ share }: ClientDescription): void {
    this.#descriptions.give(share.held, share);
  }

  #changesFor({ profile }: { readonly profile?: Profile | undefined }): ListChanges {
    return profile?.changes ?? this.#listChanges;
  }

  #tellSoon(): void {
    this.#announcing ??= setTimeout(() => this.#tell(), COALESCE_MS);
  }

  #tell(): void {
    this.#announcing = undefined;
    const due = [...this.#announced];
    this.#announced.clear();
    for (const session of this.#byId.values()) {
      if (session.stream === undefined) continue;
      const { target, lists } = session;
      const notices =
        lists?.take(this.#changesFor(session)) ?? kindsAt(due, target).map((kind) => listKinds[kind].changed);
      for (const method of notices) session.notify(notificationMessage(method));
    }
    const told = new Set<ListChanges>();
    for (const listening of this.#listening) {
      const { target } = listening;
      const changes = this.#changesFor(listening);
      const kinds = target === undefined ? changes.dueToListener(listening.heardAt) : kindsAt(due, target);
      listening.heardAt = changes.count;
      if (target === undefined) told.add(changes);
      for (const kind of kinds) listening.notify(kind);
    }
    for (const changes of told) changes.toldListeners();
  }

  #endIdle(): void {
    const since = performance.now() - this.#options.idleMs;
    for (const session of [...this.#byId.values()]) {
      if (session.isInUse || session.lastSeenAt > since) continue;
      this.#options.log.debug({ session: session.label }, 'session ended: idle');
      this.end(session, 'it was not used for limits.session_idle_seconds');
    }
  }

  /** A session at /mcp/:id lives and dies with its server's process; at /mcp the next call opens another. */
  #onParting(session: ClientSession, server: string, why: ConnectionEnd, error: GatewayError): void {
    const fields = { session: session.label, server, why, reason: error.message };
    if (session.target === server) {
      this.#options.log.info(fields, 'session ended with its connection');
      this.end(session, error.message);
    } else {
      this.#options.log.info(
        fields,
        "the session's connection to a server ended; its next call opens a new one",
      );
    }
  }
}

/** The lists of which sessions of one server are told, by the first list of each notice. */
function kindsAt(due: readonly [ListKind, Set<string>][], target: string | undefined): ListKind[] {
  const kinds = due.flatMap(([kind, servers]) => (target !== undefined && servers.has(target) ? [kind] : []));
  return [...new Set(kinds.map((kind) => (kind === 'resourceTemplates' ? 'resources' : kind)))];
}
