// All client sessions, and listening clients without a session (2026-07-28), in memory: creates, looks up and
// closes them, and sends the gateway's own notifications. `limits.sessions` limits both together, with half
// for one principal (verified sender) or address (A8, ARCHITECTURE.md). Stored sessions are unloaded after
// `session_idle_seconds` or at the limit, and restored by their next request (session-restorer.ts). List
// changes within COALESCE_MS become one notification per kind; at /mcp only clients with an outdated list
// receive it (list-changes.ts). Large client descriptions share a budget (A8).

import { randomUUID } from 'node:crypto';
import { Budget } from '../../../base/bounds/budget.ts';
import type { LimitUsage } from '../../../base/bounds/limit-usage.ts';
import { type GatewayError, OverloadedError } from '../../../base/errors/errors.ts';
import type { Log } from '../../../base/errors/log.ts';
import { isSamePrincipal, type Principal } from '../../../identity/principal.ts';
import { notificationMessage } from '../../jsonrpc/compose.ts';
import { PrincipalShares } from '../../servers/calls/client-shares.ts';
import type { ConnectionEnd } from '../../servers/calls/owner.ts';
import { type ListKind, listKinds } from '../../servers/lists/lists.ts';
import { ListChanges, type ListCompleteness, ListCopies } from '../aggregate/list-changes.ts';
import type { Endpoint, Profile } from '../profiles/profile.ts';
import { IdleSessions } from './idle-sessions.ts';
import type { ListenStream } from './listen-stream.ts';
import { OwnerBudget, type SessionOwner } from './owner-budget.ts';
import { ReplayBudget } from './replay-budget.ts';
import { ClientSession, type SessionOptions } from './session.ts';

const MAX_SWEEP_MS = 30_000;
/** Maximum description size outside the budget, in bytes: 40 MB for ten thousand clients. */
const SMALL_BYTES = 4_096;
const LARGE_TOTAL_BYTES = 16 * 1024 * 1024;
const COALESCE_MS = 50;

/** Key in `announce` for the merged address (/mcp, all servers); no server has this id. */
export const MERGED_ADDRESS = '';

export interface SessionsOptions {
  readonly maxSessions: number;
  readonly idleMs: number;
  readonly log: Log;
  /** Called when a session has closed, to release the servers' resources. */
  readonly onEnd: (session: ClientSession) => void;
  /** Returns the current profiles. */
  readonly profiles?: () => Iterable<Profile>;
  /** Returns an unguessable id. @default randomUUID */
  readonly newId?: () => string;
  /** True if sessions of clients with a network address have a record. @default false */
  readonly areStored?: boolean;
  /** Called when a session is closed permanently. */
  readonly onForgotten?: (session: ClientSession) => void;
}

export type NewSession = Omit<
  SessionOptions,
  'id' | 'replayBudget' | 'onConnectionLost' | 'onIdle' | 'isStored' | 'shares'
> & {
  /** Id, for a restored session. @default a new id */
  readonly id?: string;
};

export class Sessions {
  /** Shares of principals in the limits of calls, for all their sessions and stateless requests. */
  readonly shares = new PrincipalShares();
  readonly #options: SessionsOptions;
  readonly #byId = new Map<string, ClientSession>();
  readonly #listening = new Set<ListenStream>();
  readonly #idle = new IdleSessions();
  /** Slots of sessions and listening clients, by principal and client address. */
  readonly #slots: OwnerBudget;
  readonly #replayBudget = new ReplayBudget();
  readonly #descriptions = new Budget(LARGE_TOTAL_BYTES);
  readonly #sweepTimer: NodeJS.Timeout;
  /** Number of sessions and listen streams created so far. */
  #count = 0;
  /** Pending list changes for sessions at /mcp/:id: server ids per list. */
  readonly #pendingChanges = new Map<ListKind, Set<string>>();
  /** List changes at /mcp; every profile has its own. */
  readonly #listChanges = new ListChanges();
  #notifyTimer: NodeJS.Timeout | undefined;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#slots = new OwnerBudget(options.maxSessions);
    // At least twice within the idle time, but never more often than every 50 ms.
    const sweepMs = Math.max(50, Math.min(MAX_SWEEP_MS, options.idleMs / 2));
    this.#sweepTimer = setInterval(() => {
      this.#unloadIdle();
      this.#replayBudget.sweep();
    }, sweepMs).unref();
  }

  /** Number of listening modern clients; each counts like a session. */
  get listens(): number {
    return this.#listening.size;
  }

  /** Usage of `limits.sessions`. */
  get usage(): LimitUsage {
    return this.#slots.usage;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Number of the latest session or listening client. */
  get latestNumber(): number {
    return this.#count;
  }

  all(): Iterable<ClientSession> {
    return this.#byId.values();
  }

  /** Returns sessions and listening clients by number: the oldest first. */
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

  /**
   * Creates a session. Throws OverloadedError if the limit of sessions or the budget for descriptions is
   * exceeded.
   */
  create(options: NewSession): ClientSession {
    const session = new ClientSession({
      ...options,
      id: options.id ?? this.#options.newId?.() ?? randomUUID(),
      isStored: this.#isStored(options),
      shares: this.shares.of(options.principal),
      replayBudget: this.#replayBudget,
      onIdle: (idleSession) => this.#idle.add(idleSession),
      onConnectionLost: (endedSession, server, why, error) =>
        this.#onConnectionLost(endedSession, server, why, error),
    });
    this.#reserve(session);
    session.number = ++this.#count;
    if (session.target === undefined) session.lists = new ListCopies(this.#changesFor(session).count);
    this.#byId.set(session.id, session);
    this.#idle.add(session);
    return session;
  }

  /** Adds a listening client until `forgetListening`. Throws like `create`. */
  addListening(listening: ListenStream): void {
    this.#reserve(listening);
    listening.number = ++this.#count;
    listening.notifiedAt = this.#changesFor(listening).count;
    this.#listening.add(listening);
  }

  forgetListening(listening: ListenStream): void {
    if (this.#listening.delete(listening)) this.#release(listening);
  }

  /** Closes all notification streams; their clients reconnect to the next gateway process. */
  closeStreams(): void {
    for (const session of this.#byId.values()) session.closeStream();
    for (const listening of [...this.#listening]) listening.end();
  }

  /** Returns a session by id; undefined for another server, profile or principal. */
  find(id: string, { server, profile }: Endpoint, principal: Principal): ClientSession | undefined {
    const session = this.#byId.get(id);
    if (session === undefined || session.target !== server?.id || session.profile !== profile)
      return undefined;
    // Bearer tokens create a new principal object per request.
    const isOwner = session.principal === principal || isSamePrincipal(session.principal, principal);
    return isOwner ? session : undefined;
  }

  /** Closes a session permanently. */
  end(session: ClientSession, why: string): void {
    if (this.unload(session, why)) this.#options.onForgotten?.(session);
  }

  /** Closes a session in memory. Returns false if it is already closed. */
  unload(session: ClientSession, why: string): boolean {
    if (!this.#byId.delete(session.id)) return false;
    this.#release(session);
    session.end(why);
    this.#idle.delete(session);
    this.#options.onEnd(session);
    return true;
  }

  /** Returns true if a client at /mcp/:id has an open stream. */
  isWatching(server: string): boolean {
    for (const session of this.#byId.values())
      if (session.target === server && session.hasOpenStream) return true;
    for (const listening of this.#listening) if (listening.target === server) return true;
    return false;
  }

  /** Returns true if a client at /mcp, or at the address of the profile, uses lists. */
  areListsUsed(profile?: Profile): boolean {
    for (const session of this.#byId.values())
      if (session.profile === profile && session.lists?.isUsed === true) return true;
    for (const listening of this.#listening)
      if (listening.target === undefined && listening.profile === profile) return true;
    return false;
  }

  /**
   * Records a server's changed lists. With MERGED_ADDRESS as `server`, only the merged lists have changed.
   * `isFirst`: the lists were unknown before; clients at the address of the server are not notified.
   */
  announce(server: string, kinds: readonly ListKind[], isFirst = false): void {
    this.#listChanges.add(kinds, isFirst);
    for (const profile of this.#options.profiles?.() ?? [])
      if (profile.has(server)) profile.changes.add(kinds, isFirst);
    this.announceAt(isFirst ? MERGED_ADDRESS : server, kinds);
  }

  /** Records that a profile has other servers or tools than before. */
  announceIn({ changes }: Profile, kinds: readonly ListKind[]): void {
    changes.add(kinds, false);
    this.#scheduleNotify();
  }

  /** Records changed lists for the clients at /mcp/:id. */
  announceAt(server: string, kinds: readonly ListKind[]): void {
    for (const kind of kinds) {
      const servers = this.#pendingChanges.get(kind) ?? new Set();
      this.#pendingChanges.set(kind, servers.add(server));
    }
    this.#scheduleNotify();
  }

  /** Sends missed list changes, for example on a new stream. */
  notifyMissed(session: ClientSession): void {
    if (session.lists?.isDue(this.#changesFor(session)) === true) this.#scheduleNotify();
  }

  /** Records that a list request started. Call the returned function when it completes. */
  beginListRequest(
    session: ClientSession | undefined,
    kind: ListKind,
    profile?: Profile,
  ): (answer: ListCompleteness) => void {
    const changes = this.#changesFor({ profile });
    session?.lists?.beginRequest(kind);
    return (answer) => {
      if (session === undefined && answer !== 'none') changes.recordCopy(kind);
      session?.lists?.endRequest(kind, changes, answer);
      // Changes were not notified during the request.
      if (session !== undefined) this.notifyMissed(session);
    };
  }

  /**
   * Closes a removed server's sessions and listen streams with numbers up to `latestNumber`. Later ones
   * belong to a new server with the same id.
   */
  endAllOf(server: string, latestNumber: number, why: string): void {
    const isOf = ({ target, number }: ClientSession | ListenStream) =>
      target === server && number <= latestNumber;
    for (const session of [...this.#byId.values()]) if (isOf(session)) this.end(session, why);
    for (const listening of [...this.#listening]) if (isOf(listening)) listening.end();
  }

  close(): void {
    clearInterval(this.#sweepTimer);
    clearTimeout(this.#notifyTimer);
    for (const session of [...this.#byId.values()]) this.unload(session, 'the gateway is stopping');
    for (const listening of [...this.#listening]) listening.end();
  }

  /** Reserves a slot and memory for a client. Throws OverloadedError if no idle session can be unloaded. */
  #reserve({ owner, description, shares }: ClientSession | ListenStream): void {
    const { maxSessions } = this.#options;
    while (!this.#slots.acquire(owner, 1)) {
      if (this.#makeRoomFor(owner)) continue;
      throw new OverloadedError(
        `${this.#byId.size + this.#listening.size} of ${maxSessions} sessions and listening clients are in use, ` +
          'and one principal or client address can use at most half; end some, or raise limits.sessions',
      );
    }
    const { bytes } = description;
    if (bytes <= SMALL_BYTES) return;
    const acquire = () => this.#descriptions.acquire(bytes, shares.descriptions);
    if (acquire() || (this.#unloadIdle() && acquire())) {
      description.reservedBytes = bytes;
      return;
    }
    this.#slots.release(owner, 1);
    throw new OverloadedError(
      `the client description of ${bytes} bytes exceeds the budget: ${this.#descriptions.used} of ` +
        `${this.#descriptions.total} bytes are in use; up to ${SMALL_BYTES} bytes are always accepted`,
    );
  }

  #release({ owner, description, shares }: ClientSession | ListenStream): void {
    this.#slots.release(owner, 1);
    this.#descriptions.release(description.reservedBytes, shares.descriptions);
    description.reservedBytes = 0;
  }

  /** Unloads the longest unused session, preferably one of this owner. Returns false if none is unused. */
  #makeRoomFor(owner: SessionOwner): boolean {
    // 'principal' or 'client': the part of the owner with too many sessions.
    const limitedPart = this.#slots.lacking(owner, 1);
    const victim = this.#idle.first(`${limitedPart} ${owner[limitedPart]}`) ?? this.#idle.first('stored');
    if (victim === undefined) return this.#unloadIdle();
    return this.unload(victim, 'limits.sessions is reached');
  }

  /** Returns false for cluster nodes and clients in this process, which open new sessions after a restart. */
  #isStored({ client, principal }: NewSession): boolean {
    return this.#options.areStored === true && client !== undefined && principal?.kind !== 'node';
  }

  #changesFor({ profile }: { readonly profile?: Profile | undefined }): ListChanges {
    return profile?.changes ?? this.#listChanges;
  }

  #scheduleNotify(): void {
    this.#notifyTimer ??= setTimeout(() => this.#notifyAll(), COALESCE_MS);
  }

  #notifyAll(): void {
    this.#notifyTimer = undefined;
    const due = [...this.#pendingChanges];
    this.#pendingChanges.clear();
    for (const session of this.#byId.values()) {
      if (session.stream === undefined) continue;
      const { target, lists } = session;
      const notices =
        lists?.takeNotifications(this.#changesFor(session)) ??
        kindsAt(due, target).map((kind) => listKinds[kind].changed);
      for (const method of notices) session.notify(notificationMessage(method));
    }
    const notifiedChanges = new Set<ListChanges>();
    for (const listening of this.#listening) {
      const { target } = listening;
      const changes = this.#changesFor(listening);
      const kinds = target === undefined ? changes.dueKinds(listening.notifiedAt) : kindsAt(due, target);
      listening.notifiedAt = changes.count;
      if (target === undefined) notifiedChanges.add(changes);
      for (const kind of kinds) listening.notify(kind);
    }
    for (const changes of notifiedChanges) changes.markNotified();
  }

  /** Unloads idle sessions. Returns false if there are none. */
  #unloadIdle(): boolean {
    const since = performance.now() - this.#options.idleMs;
    let count = 0;
    for (const queue of ['stored', 'unstored'] as const) {
      let session = this.#idle.first(queue);
      for (; session !== undefined && session.lastSeenAt <= since; session = this.#idle.first(queue)) {
        this.#options.log.debug({ session: session.label }, 'session unloaded: idle');
        this.unload(session, 'it was not used for limits.session_idle_seconds');
        count += 1;
      }
    }
    return count > 0;
  }

  /**
   * Called when a connection of the session was lost. The next call opens a new one. Only a session without a
   * record closes with its connection at /mcp/:id.
   */
  #onConnectionLost(session: ClientSession, server: string, why: ConnectionEnd, error: GatewayError): void {
    const fields = { session: session.label, server, why, reason: error.message };
    if (session.target === server && !session.isStored) {
      this.#options.log.info(fields, 'session ended with its connection');
      this.end(session, error.message);
      return;
    }
    session.noteLostProcess(server);
    this.#options.log.info(
      fields,
      "the session's connection to a server ended; its next call opens a new one",
    );
  }
}

/** Returns one list kind per notification due for clients of this server. */
function kindsAt(due: readonly [ListKind, Set<string>][], target: string | undefined): ListKind[] {
  const kinds = due.flatMap(([kind, servers]) => (target !== undefined && servers.has(target) ? [kind] : []));
  // Resources and resource templates share a notification.
  return [...new Set(kinds.map((kind) => (kind === 'resourceTemplates' ? 'resources' : kind)))];
}
