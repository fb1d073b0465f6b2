// Stores the records of sessions (the data to restore them). Restores a session on the first request after an
// idle time, a restart of the gateway, or the loss of its node in the cluster. Only the principal (verified
// sender) that opened the session can restore it, at its URL. Concurrent requests share a restoration.

import { forEachLimited } from '../../../base/bounds/for-each-limited.ts';
import { OverloadedError } from '../../../base/errors/errors.ts';
import type { Log } from '../../../base/errors/log.ts';
import { isSamePrincipal, type Principal } from '../../../identity/principal.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import type { Endpoint } from '../profiles/profile.ts';
import type { ClientSession } from './session.ts';
import type { SessionRecord } from './session-record.ts';
import { applyState, readState } from './session-state.ts';
import type { Sessions } from './sessions.ts';
import { REFRESH_MS, type SessionOwnerNode, type StoredSessions } from './stored-sessions.ts';

/** Maximum number of concurrent lookups; further requests are refused. */
const MAX_LOOKUPS = 256;
/** Interval at which the records of sessions in use are renewed. */
const SWEEP_MS = 3_600_000;
const CONCURRENT_CHECKS = 8;

export interface SessionRestorerOptions {
  readonly sessions: Sessions;
  /** Undefined if this gateway stores nothing. */
  readonly records: StoredSessions | undefined;
  readonly log: Log;
  /** Returns the servers at the address of the session. */
  readonly serversOf: (session: ClientSession) => readonly ManagedServer[];
}

/** The session, or the node that has it; undefined for an unknown id. */
export type RestoredSession = ClientSession | SessionOwnerNode | undefined;

export class SessionRestorer {
  readonly #options: SessionRestorerOptions;
  readonly #lookups = new Map<string, Promise<RestoredSession>>();
  readonly #sweepTimer: NodeJS.Timeout;

  constructor(options: SessionRestorerOptions) {
    this.#options = options;
    this.#sweepTimer = setInterval(() => this.#refresh(), SWEEP_MS).unref();
  }

  close(): void {
    clearInterval(this.#sweepTimer);
  }

  /** Stores a session's current state. Never rejects. */
  async save(session: ClientSession): Promise<void> {
    const { records, serversOf } = this.#options;
    if (records === undefined || !session.isStored || session.isEnded) return;
    session.hasNewProcess = false;
    session.storedAt = performance.now();
    const { id, owner, principal, target, profile, protocolVersion, generation } = session;
    await records.save(id, {
      ...readState(session, serversOf(session)),
      ...{ owner, target, protocolVersion, generation, profile: profile?.name },
      principal: { kind: principal.kind, name: principal.name },
      clientInfo: session.clientInfo,
      capabilities: session.capabilities,
      usedAt: Date.now(),
    });
  }

  /** Removes a session's record. Rejects if the storage is not available. */
  async forget({ id, isStored }: ClientSession): Promise<void> {
    if (isStored) await this.#options.records?.remove(id);
  }

  /**
   * Restores a session. `gone` is the id of a node that has certainly exited; its sessions are restored too.
   * Resolves to undefined for an unknown id, and for another principal or address. Rejects with
   * OverloadedError or StoreUnavailableError.
   */
  async restore(
    id: string,
    endpoint: Endpoint,
    principal: Principal,
    gone?: string,
  ): Promise<RestoredSession> {
    const { records, sessions } = this.#options;
    if (records === undefined) return undefined;
    // Waits while another request restores this session. The session is then in memory. After a failure, one
    // of the waiting requests tries again, and the other requests wait for it: hence a loop.
    for (let pending = this.#lookups.get(id); pending !== undefined; pending = this.#lookups.get(id))
      await pending.catch(() => {});
    const session = sessions.find(id, endpoint, principal);
    if (session !== undefined) return session;
    if (this.#lookups.size >= MAX_LOOKUPS) {
      throw new OverloadedError(`${MAX_LOOKUPS} sessions are being restored; retry shortly`);
    }
    const lookup = this.#restore(records, id, endpoint, principal, gone);
    this.#lookups.set(id, lookup);
    return lookup.finally(() => this.#lookups.delete(id));
  }

  async #restore(
    records: StoredSessions,
    id: string,
    endpoint: Endpoint,
    principal: Principal,
    gone: string | undefined,
  ): Promise<RestoredSession> {
    const record = await records.find(id, gone);
    // An object with `instance` is not a record: it names the node that has the session.
    if (record === undefined || 'instance' in record) return record;
    if (!isFor(record, endpoint, principal)) return undefined;
    const { sessions, serversOf, log } = this.#options;
    const session = sessions.create({
      ...{ id, principal, target: record.target, profile: endpoint.profile, client: record.owner.client },
      generation: record.generation + 1,
      protocolVersion: record.protocolVersion,
      clientInfo: record.clientInfo,
      capabilities: record.capabilities,
    });
    applyState(session, record, serversOf(session));
    await records.save(id, { ...record, generation: session.generation, usedAt: Date.now() });
    session.storedAt = performance.now();
    log.debug({ session: session.label }, 'session restored');
    return session;
  }

  /** Unloads sessions that another node restored while this node was disconnected from the cluster. */
  async verify(): Promise<void> {
    const { records, sessions } = this.#options;
    if (records === undefined) return;
    const stored = [...sessions.all()].filter(({ isStored }) => isStored);
    await forEachLimited(CONCURRENT_CHECKS, stored, async (session) => {
      // The storage was not available when the session started.
      if (records.isUnwritten(session.id)) await this.save(session);
      const isElsewhere = await records.find(session.id).then(
        (record) => record === undefined || 'instance' in record,
        // The storage is not available: the session stays.
        () => false,
      );
      if (isElsewhere) sessions.unload(session, 'it moved to another node, or its client deleted it');
    });
  }

  /** Renews the records of sessions in use before they expire. */
  #refresh(): void {
    const since = performance.now() - REFRESH_MS;
    for (const session of this.#options.sessions.all()) {
      const wasUsed = session.isInUse || session.lastSeenAt > session.storedAt;
      if (wasUsed && session.storedAt < since) void this.save(session);
    }
  }
}

/** Returns true if this principal may restore the session at this address. */
function isFor(record: SessionRecord, { server, profile }: Endpoint, principal: Principal): boolean {
  return (
    record.target === server?.id &&
    record.profile === profile?.name &&
    isSamePrincipal({ ...record.principal }, principal)
  );
}
