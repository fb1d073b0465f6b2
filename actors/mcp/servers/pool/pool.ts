// The connections of one server. Under shared isolation up to `pool.max` connections serve everybody, a session
// sticking to one; under session isolation every client session has its own, and stateless requests share one.
//
// P1  at most `pool.max` members exist, those being opened included; under shared isolation so many of each era.
// P5  a member speaks one era; a call travels on a member of the era its message is written in.
// P2  under session isolation nothing of one session ever travels on another's connection.
// P3  after `kill` or a finished `drain` no connection is left (A5).
// P4  a crash under session isolation ends that session's connection only; a failed start is told to the server
//     when nothing else is open (A6).
// P6  where no connection is left, one goes that nobody uses, or else the one whose call has waited longest for nothing but
//     its client to come back.

import { type GatewayError, StoppedError, UnavailableError } from '../../../base/errors/errors.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import type { CallMember } from '../calls/call.ts';
import type { CallOwner, ConnectionEnd } from '../calls/call-owner.ts';
import { ClosingConnections } from './closing-connections.ts';
import { ConnectionSetup, type ConnectionSetupOptions, isSessionless } from './connection-setup.ts';
import type { PoolMember } from './pool-member.ts';

export interface PoolOptions extends ConnectionSetupOptions {
  readonly max: number;
  /** Returns true if an idle member has listeners or running tasks. */
  isNeededBySome(member: PoolMember): boolean;
  onOpen(member: PoolMember): void;
  /** A member could not be opened; the calls that wait for it cannot be sent. */
  onOpenFailed(member: PoolMember, error: GatewayError): void;
  /** The pool is empty, though it was not told to close. */
  onLost(error: GatewayError): void;
  onMemberEnded(member: PoolMember, error: GatewayError): void;
}

const MAX_RENEWALS = 2;
/** After a further connection could not be opened no other is tried for so long. */
const FURTHER_PAUSE_MS = 5000;
/** A remote session that lasted this long counts as a success. */
const STEADY_MS = 5_000;

export class Pool {
  readonly #options: PoolOptions;
  readonly #members = new Set<PoolMember>();
  readonly #opening: ConnectionSetup;
  readonly #closing = new ClosingConnections();
  readonly #byOwner: Readonly<Record<Era, Map<CallOwner | undefined, PoolMember>>> = {
    legacy: new Map(),
    modern: new Map(),
  };
  /** Eras in which connections have no session state. */
  readonly #isSessionless: Readonly<Record<Era, boolean>>;
  #isDraining = false;
  /** Until then, in performance.now() milliseconds, no further connection is opened beside those that are open. */
  #aloneUntil = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
    const { isRemote } = options;
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

  /** The last lines on stderr, those on their way out and the last one that has ended included; redacted. */
  get stderrTail(): readonly string[] {
    return this.#closing.recentStderrWith(this.#members);
  }

  /** Opens the pool again, for a server that starts anew. */
  begin(): void {
    this.#isDraining = false;
    this.#aloneUntil = 0;
  }

  /**
   * The open member that serves `owner`, or undefined while one is being opened for it.
   * Throws UnavailableError when every place is taken by others.
   */
  pick(owner: CallOwner | undefined, era: Era): PoolMember | undefined {
    const { isolation } = this.#options;
    const isOwned = isolation === 'session' && !this.#isSessionless[era];
    const member = isOwned ? this.#own(this.placeOf(owner, era), era) : this.#shared(owner, era);
    return canTake(member) ? member : undefined;
  }

  /** The owner of the connection that serves `owner`: itself, or undefined for a shared one. */
  placeOf(owner: CallOwner | undefined, era: Era): CallOwner | undefined {
    const isOwned = this.#options.isolation === 'session' && !this.#isSessionless[era];
    return isOwned && owner?.isListener !== true ? owner : undefined;
  }

  /** The member that belongs to a session alone. */
  memberOf(owner: CallOwner): PoolMember | undefined {
    if (this.#options.isolation !== 'session') return undefined;
    return this.#byOwner.legacy.get(owner) ?? this.#byOwner.modern.get(owner);
  }

  /** The session has ended: its own connection goes, a shared one stays. */
  release(owner: CallOwner): void {
    for (const byOwner of Object.values(this.#byOwner)) {
      const member = byOwner.get(owner);
      byOwner.delete(owner);
      if (member?.owner === owner) void this.close(member, new StoppedError('the client session has ended'));
    }
  }

  /** Ends one member gracefully; calls still on it end with `error`. */
  close(member: PoolMember, error: GatewayError, parting?: ConnectionEnd): Promise<void> {
    if (!this.#remove(member)) return this.#closing.of(member);
    member.connection.failAll(error);
    if (parting !== undefined) member.owner?.onConnectionEnd(this.#options.server, parting, error);
    return this.#closing.begin(member);
  }

  /**
   * Lets the calls in flight end within `graceMs`, then closes everything. Calls that wait for their clients are not
   * waited for: by themselves they make no progress. One whose client comes back in time goes on like any other.
   */
  async drain(graceMs: number, parting: ConnectionEnd = 'stopped'): Promise<void> {
    this.#isDraining = true;
    const deadline = performance.now() + graceMs;
    while (performance.now() < deadline && [...this.#members].some(isAtWork)) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const { server } = this.#options;
    for (const member of [...this.#members]) {
      const when = member.inFlight > 0 ? ' before the call was answered' : '';
      const error = new StoppedError(`server ${server} was stopped${when}; it starts again on the next call`);
      void this.close(member, error, parting);
    }
    await this.#closing.everybody();
  }

  /** Ends everything at once. */
  kill(error: GatewayError): void {
    this.#closing.kill();
    for (const member of [...this.#members]) {
      this.#remove(member);
      member.connection.failAll(error);
      this.#closing.cut(member);
      member.owner?.onConnectionEnd(this.#options.server, 'crashed', error);
    }
  }

  #shared(owner: CallOwner | undefined, era: Era): PoolMember {
    const max = this.#isSessionless[era] ? 1 : this.#options.max;
    const stuck = max > 1 ? this.#byOwner[era].get(owner) : undefined;
    if (stuck !== undefined) return stuck;
    let best: PoolMember | undefined;
    let count = 0;
    for (const member of this.#members) {
      if (member.era !== era) continue;
      count += 1;
      if (!member.isClosing && (best === undefined || member.inFlight < best.inFlight)) best = member;
    }
    const isBusy = best !== undefined && best.inFlight > 0 && canTake(best);
    const hasRoom = count < max && performance.now() >= this.#aloneUntil;
    if (best === undefined || (isBusy && hasRoom)) best = this.#open(undefined, era);
    if (owner !== undefined && max > 1) this.#byOwner[era].set(owner, best);
    return best;
  }

  #own(owner: CallOwner | undefined, era: Era): PoolMember {
    const own = this.#byOwner[era].get(owner);
    if (own !== undefined) return own;
    if (this.#members.size >= this.#options.max) this.#evictOne();
    const member = this.#open(owner, era);
    this.#byOwner[era].set(owner, member);
    return member;
  }

  #evictOne(): void {
    let oldest: PoolMember | undefined;
    for (const member of this.#members) {
      if (member.inFlight > 0 || !member.isOpen || member.isClosing || member.owner?.hasOpenStream === true)
        continue;
      if (this.#options.isNeededBySome(member)) continue;
      if (oldest === undefined || member.lastUsedAt < oldest.lastUsedAt) oldest = member;
    }
    if (oldest === undefined) {
      this.#haveOneGiveWay();
      return;
    }
    void this.close(
      oldest,
      new StoppedError(`the session made room for a newer one (pool.max ${this.#options.max})`),
      'evicted',
    );
    // The member is closing and holds its place no longer; `close` waits for its end.
    this.#members.delete(oldest);
  }

  #haveOneGiveWay(): void {
    const { server, max } = this.#options;
    let longest: CallOwner | undefined;
    for (const { owner } of this.#members) {
      if (owner?.suspendedAt === undefined) continue;
      if (longest?.suspendedAt === undefined || owner.suspendedAt < longest.suspendedAt) longest = owner;
    }
    const all = `all ${max} connections of server ${server}`;
    longest?.giveWay?.(
      new UnavailableError(
        `the call waited for its client longest when ${all} were in use, and gave way to another; send the request anew, or raise pool.max`,
        1,
      ),
    );
    if (this.#members.size < max) return;
    throw new UnavailableError(`${all} are in use by other sessions; try later, or raise pool.max`, 1);
  }

  #open(owner: CallOwner | undefined, era: Era): PoolMember {
    const member = this.#opening.open(owner, era);
    this.#members.add(member);
    return member;
  }

  #onOpenFailed(member: PoolMember, error: GatewayError): void {
    this.#remove(member);
    void this.#closing.begin(member);
    this.#aloneUntil = performance.now() + FURTHER_PAUSE_MS;
    this.#options.onOpenFailed(member, error);
    if (this.#members.size === 0 && !this.#isDraining) this.#options.onLost(error);
  }

  #onEnd(member: PoolMember, error: GatewayError): void {
    if (this.#options.isRemote && this.#renew(member, error)) return;
    member.isOpen = false;
    this.#remove(member);
    // What is left of it (descendants of a dead process) goes too.
    void this.#closing.begin(member);
    this.#options.onMemberEnded(member, error);
    member.owner?.onConnectionEnd(this.#options.server, 'crashed', error);
    const isShared = this.#options.isolation === 'shared';
    if (isShared && this.#members.size === 0 && !this.#isDraining) this.#options.onLost(error);
  }

  /**
   * The remote side has forgotten the session, or broken the stream that was it: one new handshake for everybody who
   * waits. False when it is no use: it has just been done, and nothing was answered since.
   */
  #renew(member: PoolMember, error: GatewayError): boolean {
    if (this.#isDraining) return false;
    if (performance.now() - member.openedAt > STEADY_MS) member.renewals = 0;
    if (member.renewals >= MAX_RENEWALS) return false;
    this.#opening.again(member);
    this.#options.onMemberEnded(member, error);
    return true;
  }

  /** Takes a member out of the pool; false when it was out already. */
  #remove(member: PoolMember): boolean {
    if (member.isClosing) return false;
    member.isClosing = true;
    this.#members.delete(member);
    const byOwner = this.#byOwner[member.era];
    if (byOwner.get(member.owner) === member) byOwner.delete(member.owner);
    else for (const [owner, stuck] of byOwner) if (stuck === member) byOwner.delete(owner);
    return true;
  }
}

/** Whether a call of a client on it makes progress by itself. */
function isAtWork({ inFlight, connection }: PoolMember): boolean {
  let suspended = 0;
  if (inFlight > 0) for (const call of connection.calls()) if (call.isSuspended) suspended += 1;
  return inFlight > suspended;
}

/** Returns true if calls may be sent on the connection. */
export function canTake({ isOpen, isClosing, connection }: CallMember): boolean {
  return isOpen && !isClosing && !connection.link.isOver;
}
