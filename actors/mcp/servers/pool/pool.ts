// One server's connections ("members"). With `isolation: shared` up to `pool.max` connections per protocol
// era (sessions, stateless requests) serve all clients; a client stays on one connection. With `isolation:
// session` each client session has a private connection, and stateless requests share one. A full pool closes
// an unused connection, or fails the call that has waited longest for its client. A principal (authenticated
// identity) cannot use all connections, and displaces no connection of a client with fewer
// (client-shares.ts). A crash of a private connection affects only its session (A6, ARCHITECTURE.md). After
// `kill` or a completed `drain` all connections are closed (A5).
//
// P2  under session isolation no message of one session is sent on a connection of another session.

import type { Share } from '../../../base/bounds/budget.ts';
import { type GatewayError, StoppedError, UnavailableError } from '../../../base/errors/errors.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import type { CallMember } from '../calls/call.ts';
import { type ClientBudget, serverSlots } from '../calls/client-budget.ts';
import type { CallOwner, ConnectionEnd } from '../calls/owner.ts';
import { ClosingConnections } from './closing-connections.ts';
import { ConnectionSetup, type ConnectionSetupOptions, isSessionless } from './connection-setup.ts';
import { hasActiveCall, type PoolMember } from './pool-member.ts';

export interface PoolOptions extends ConnectionSetupOptions {
  readonly max: number;
  /** Returns true if an idle member must stay open, for listeners or running tasks. */
  isNeeded(member: PoolMember): boolean;
  onOpen(member: PoolMember): void;
  /** A member failed to open. */
  onOpenFailed(member: PoolMember, error: GatewayError): void;
  /** The last connection was lost or failed to open. */
  onLost(error: GatewayError): void;
  onMemberEnded(member: PoolMember, error: GatewayError): void;
}

/** Maximum number of consecutive renewals: new sessions for a connection whose remote session was lost. */
const MAX_RENEWALS = 2;
/** Pause after a failed attempt to add a connection. */
const GROWTH_PAUSE_MS = 5000;
/** Uptime of a remote session after which the number of renewals is reset. */
const STEADY_MS = 5_000;

export class Pool {
  readonly #options: PoolOptions;
  readonly #members = new Set<PoolMember>();
  /** Opens the connections of members. */
  readonly #opening: ConnectionSetup;
  /** Closes the connections of removed members. */
  readonly #closing = new ClosingConnections();
  /** Assigned members: private connections by session, and the shared connection that a client stays on. */
  readonly #byOwner: Readonly<Record<Era, Map<CallOwner | undefined, PoolMember>>> = {
    legacy: new Map(),
    modern: new Map(),
  };
  /** True if a connection of the era has no session, so that one connection is enough for all clients. */
  readonly #isSessionless: Readonly<Record<Era, boolean>>;
  /** Private connections, with shares by principal or session. */
  readonly #slots: ClientBudget;
  #isDraining = false;
  /** End of the pause after a failed attempt to add a connection, in performance.now() milliseconds. */
  #noGrowthUntil = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
    const { isRemote, max } = options;
    this.#slots = serverSlots(max);
    this.#isSessionless = {
      legacy: isSessionless(isRemote, 'legacy'),
      modern: isSessionless(isRemote, 'modern'),
    };
    this.#opening = new ConnectionSetup(options, {
      onOpen: (member) => options.onOpen(member),
      onFailed: (member, error) => this.#onOpenFailed(member, error),
      onEnd: (member, error) => this.#onEnd(member, error),
    });
  }

  get members(): ReadonlySet<PoolMember> {
    return this.#members;
  }

  /** Last stderr lines of all members, closing members, and the last exited process; redacted. */
  get stderrTail(): readonly string[] {
    return this.#closing.recentStderrWith(this.#members);
  }

  /** Resets the pool for a new start of the server. */
  reset(): void {
    this.#isDraining = false;
    this.#noGrowthUntil = 0;
  }

  /**
   * Returns the member that serves `owner` (a client session), or opens one and returns undefined until it is
   * open. Throws UnavailableError if other sessions use all connections.
   */
  pick(owner: CallOwner | undefined, era: Era): PoolMember | undefined {
    const member = this.#isIsolated(era)
      ? this.#ownMember(this.ownerOf(owner, era), era)
      : this.#sharedMember(owner, era);
    return canSend(member) ? member : undefined;
  }

  /**
   * Returns the owner of the connection that serves `owner`: `owner` itself for a private connection,
   * undefined for a shared one.
   */
  ownerOf(owner: CallOwner | undefined, era: Era): CallOwner | undefined {
    return this.#isIsolated(era) && owner?.isListener !== true ? owner : undefined;
  }

  /** Returns true if sessions have private connections of this era. */
  #isIsolated(era: Era): boolean {
    return this.#options.isolation === 'session' && !this.#isSessionless[era];
  }

  /** Returns the private connection of the session. */
  memberOf(owner: CallOwner): PoolMember | undefined {
    if (this.#options.isolation !== 'session') return undefined;
    return this.#byOwner.legacy.get(owner) ?? this.#byOwner.modern.get(owner);
  }

  /** Closes the private connection of the session. A shared connection stays open. */
  release(owner: CallOwner): void {
    for (const byOwner of Object.values(this.#byOwner)) {
      const member = byOwner.get(owner);
      byOwner.delete(owner);
      if (member?.owner === owner) void this.close(member, new StoppedError('the client session has ended'));
    }
  }

  /** Closes a member gracefully. Its remaining calls fail with `error`. */
  close(member: PoolMember, error: GatewayError, endReason?: ConnectionEnd): Promise<void> {
    if (!this.#remove(member)) return this.#closing.whenClosed(member);
    member.connection.failAll(error);
    if (endReason !== undefined) member.owner?.onConnectionEnd(this.#options.server, endReason, error);
    return this.#closing.close(member);
  }

  /**
   * Closes all connections when their calls are complete, or after `graceMs`. Suspended calls do not delay
   * this, because only their clients can continue them.
   */
  async drain(graceMs: number, endReason: ConnectionEnd = 'stopped'): Promise<void> {
    this.#isDraining = true;
    const deadline = performance.now() + graceMs;
    // A drain is rare, so polling is sufficient.
    while (performance.now() < deadline && [...this.#members].some(hasActiveCall)) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const { server } = this.#options;
    for (const member of [...this.#members]) {
      const when = member.inFlight > 0 ? ' before the call was answered' : '';
      const error = new StoppedError(`server ${server} was stopped${when}; it starts again on the next call`);
      void this.close(member, error, endReason);
    }
    await this.#closing.whenAllClosed();
  }

  /** Kills all connections. */
  kill(error: GatewayError): void {
    this.#closing.kill();
    for (const member of [...this.#members]) {
      this.#remove(member);
      member.connection.failAll(error);
      this.#closing.killMember(member);
      member.owner?.onConnectionEnd(this.#options.server, 'crashed', error);
    }
  }

  /** Returns the member assigned to the client, otherwise the least used or a new one. */
  #sharedMember(owner: CallOwner | undefined, era: Era): PoolMember {
    const max = this.#isSessionless[era] ? 1 : this.#options.max;
    const assigned = max > 1 ? this.#byOwner[era].get(owner) : undefined;
    if (assigned !== undefined) return assigned;
    let best: PoolMember | undefined;
    let count = 0;
    for (const member of this.#members) {
      if (member.era !== era) continue;
      count += 1;
      if (!member.isClosing && (best === undefined || member.inFlight < best.inFlight)) best = member;
    }
    // A new connection is opened only if the least used one is busy; growth pauses after a failed open.
    const isBusy = best !== undefined && best.inFlight > 0 && canSend(best);
    const mayGrow = count < max && performance.now() >= this.#noGrowthUntil;
    if (best === undefined || (isBusy && mayGrow)) best = this.#open(undefined, era);
    if (owner !== undefined && max > 1) this.#byOwner[era].set(owner, best);
    return best;
  }

  /** Returns the private member of the session; without `owner` the member for all stateless requests. */
  #ownMember(owner: CallOwner | undefined, era: Era): PoolMember {
    const own = this.#byOwner[era].get(owner);
    if (own !== undefined) return own;
    const share = this.#slots.shareOf(owner?.shares ?? owner);
    // The loop ends with a free slot, or with the error of `#endLongestSuspended`.
    while (!this.#hasSlotFor(share)) if (!this.#evictOne(share)) this.#endLongestSuspended(share);
    const member = this.#open(owner, era);
    member.share = share;
    this.#slots.acquire(1, share);
    this.#byOwner[era].set(owner, member);
    return member;
  }

  #hasSlotFor(share: Share): boolean {
    return this.#members.size < this.#options.max && this.#slots.hasCapacity(1, share);
  }

  /**
   * Closes the member that was unused for longest: a member of this client, otherwise of a client with more
   * members. Returns false if neither exists.
   */
  #evictOne(own: Share): boolean {
    const unused = [...this.#members]
      .filter((member) => this.#isUnused(member))
      .sort((a, b) => a.lastUsedAt - b.lastUsedAt);
    const oldest =
      unused.find(({ share }) => share === own) ??
      unused.find(({ share }) => share === undefined || share.used > own.used);
    if (oldest === undefined) return false;
    void this.close(
      oldest,
      new StoppedError(`the session made room for a newer one (pool.max ${this.#options.max})`),
      'evicted',
    );
    return true;
  }

  #isUnused(member: PoolMember): boolean {
    const isInUse =
      member.inFlight > 0 || !member.isOpen || member.isClosing || member.owner?.hasOpenStream === true;
    return !isInUse && !this.#options.isNeeded(member);
  }

  /**
   * Frees the slot of the call suspended longest, which waits for an answer of its client. Throws
   * UnavailableError if that is not sufficient.
   */
  #endLongestSuspended(share: Share): void {
    const { server, max } = this.#options;
    let longest: CallOwner | undefined;
    for (const { owner } of this.#members) {
      if (owner?.suspendedAt === undefined) continue;
      if (longest?.suspendedAt === undefined || owner.suspendedAt < longest.suspendedAt) longest = owner;
    }
    const all = `all ${max} connections of server ${server}`;
    longest?.yieldConnection?.(
      new UnavailableError(
        `${all} were in use, and this call had waited longest for its client, so it was ended for another; send the request again, or raise pool.max`,
        1,
      ),
    );
    if (this.#hasSlotFor(share)) return;
    const users =
      this.#slots.free > 0
        ? `${share.used} of ${max} connections of server ${server} are in use by this client, and the rest is reserved for others`
        : `${all} are in use by other sessions`;
    throw new UnavailableError(`${users}; try later, or raise pool.max`, 1);
  }

  #open(owner: CallOwner | undefined, era: Era): PoolMember {
    const member = this.#opening.open(owner, era);
    this.#members.add(member);
    return member;
  }

  #onOpenFailed(member: PoolMember, error: GatewayError): void {
    this.#remove(member);
    void this.#closing.close(member);
    this.#noGrowthUntil = performance.now() + GROWTH_PAUSE_MS;
    this.#options.onOpenFailed(member, error);
    if (this.#members.size === 0 && !this.#isDraining) this.#options.onLost(error);
  }

  #onEnd(member: PoolMember, error: GatewayError): void {
    if (this.#options.isRemote && this.#renew(member, error)) return;
    member.isOpen = false;
    this.#remove(member);
    // The process has exited, but its child processes may not have.
    void this.#closing.close(member);
    this.#options.onMemberEnded(member, error);
    member.owner?.onConnectionEnd(this.#options.server, 'crashed', error);
    const isShared = this.#options.isolation === 'shared';
    if (isShared && this.#members.size === 0 && !this.#isDraining) this.#options.onLost(error);
  }

  /**
   * Opens a new session for a member whose remote session or stream was lost. Returns false if recent new
   * sessions were lost without any response.
   */
  #renew(member: PoolMember, error: GatewayError): boolean {
    if (this.#isDraining) return false;
    if (performance.now() - member.openedAt > STEADY_MS) member.renewals = 0;
    if (member.renewals >= MAX_RENEWALS) return false;
    this.#opening.reopen(member);
    this.#options.onMemberEnded(member, error);
    return true;
  }

  /** Removes a member from the pool. Returns false if it was removed before. */
  #remove(member: PoolMember): boolean {
    if (member.isClosing) return false;
    member.isClosing = true;
    this.#members.delete(member);
    if (member.share !== undefined) this.#slots.release(1, member.share);
    const byOwner = this.#byOwner[member.era];
    // A shared member has no owner, but several clients may be assigned to it.
    if (byOwner.get(member.owner) === member) byOwner.delete(member.owner);
    else for (const [owner, assigned] of byOwner) if (assigned === member) byOwner.delete(owner);
    return true;
  }
}

/** Returns true if calls may be sent on the connection. */
export function canSend({ isOpen, isClosing, connection }: CallMember): boolean {
  return isOpen && !isClosing && !connection.link.isOver;
}
