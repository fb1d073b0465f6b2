// The connections of one server. Under shared isolation up to `pool.max` connections serve everybody, a session
// sticking to one; under session isolation every client session has its own, and stateless requests share one.
//
// P1  at most `pool.max` members exist, those being opened included; under shared isolation so many of each era.
// P5  a member speaks one era; a call travels on a member of the era its message is written in.
// P2  under session isolation nothing of one session ever travels on another's connection.
// P3  after `kill` or a finished `drain` no connection is left (A5).
// P4  a crash under session isolation ends that session's connection only; a failed start is told to the server
//     when nothing else is open (A6).

import {
  type GatewayError,
  StartFailedError,
  StartTimeoutError,
  StoppedError,
  UnavailableError,
} from '../errors.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import type { Era } from '../jsonrpc/modern-meta.ts';
import type { Link, LinkEvents } from '../upstream/link.ts';
import type { Call } from './call.ts';
import { Connection, type Introduction } from './connection.ts';
import { withEraAdvice } from './era-advice.ts';
import { LastWords } from './last-words.ts';
import { canTake, type Member } from './member.ts';
import type { Owner, Parting } from './owner.ts';

export interface PoolOptions {
  readonly server: string;
  readonly isolation: 'shared' | 'session';
  readonly max: number;
  readonly startTimeoutMs: number;
  readonly introduction: Introduction;
  readonly forwardsRoots: boolean;
  /** The far end is a session, not a process: when it is lost by itself, another takes its place. */
  readonly isRemote: boolean;
  makeLink(events: LinkEvents, era: Era): Link;
  /** A member without calls that somebody listens to all the same. */
  isHeardBySome(member: Member): boolean;
  /** Called after each handshake, within what is left of the start timeout. */
  onHandshake(member: Member, leftMs: number): Promise<void>;
  onOpen(member: Member): void;
  /** A member could not be opened; the calls that wait for it cannot be sent. */
  onOpenFailed(member: Member, error: GatewayError): void;
  /** The pool is empty and could not help it. */
  onLost(error: GatewayError): void;
  onUndelivered(call: Call, error: GatewayError): void;
  /** A remote server missed headers that a tool's schema asks for: the schema is not what it was. */
  onHeaderMismatch(member: Member, call: Call): void;
  onRequest(member: Member, envelope: Envelope, call: Call | undefined): void;
  onNotification(member: Member, envelope: Envelope, call: Call | undefined): void;
  onNoise(what: string): void;
  onMemberEnded(member: Member, error: GatewayError): void;
}

const MAX_RENEWALS = 2;
/** After a further connection could not be opened, those that are open serve alone for so long. */
const FURTHER_PAUSE_MS = 5000;
/** A remote session that stood this long was no try in vain. */
const STEADY_MS = 5_000;

export class Pool {
  readonly #options: PoolOptions;
  readonly #members = new Set<Member>();
  /** Members on their way out: they hold no place any more, but their processes may still be ending. */
  readonly #leaving = new Map<Member, Promise<void>>();
  readonly #byOwner: Readonly<Record<Era, Map<Owner | undefined, Member>>> = {
    legacy: new Map(),
    modern: new Map(),
  };
  readonly #lastWords = new LastWords();
  #isDraining = false;
  /** Until then, in performance.now() milliseconds, no further connection is opened beside those that are open. */
  #aloneUntil = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  get members(): ReadonlySet<Member> {
    return this.#members;
  }

  /** The last lines on stderr, those on their way out and the last one that has ended included; redacted. */
  get stderrTail(): readonly string[] {
    return this.#lastWords.with([...this.#leaving.keys(), ...this.#members]);
  }

  /** The pool of a server that starts anew. */
  begin(): void {
    this.#isDraining = false;
    this.#aloneUntil = 0;
  }

  /**
   * The open member that serves `owner`, or undefined while one is being opened for it.
   * Throws UnavailableError when every place is taken by others.
   */
  pick(owner: Owner | undefined, era: Era): Member | undefined {
    const { isolation } = this.#options;
    const isOwned = isolation === 'session' && !this.#isSessionless(era);
    const member = isOwned ? this.#own(this.placeOf(owner, era), era) : this.#shared(owner, era);
    return canTake(member) ? member : undefined;
  }

  /** Whose connection serves `owner`: its own, or, as undefined, one it shares. */
  placeOf(owner: Owner | undefined, era: Era): Owner | undefined {
    const isOwned = this.#options.isolation === 'session' && !this.#isSessionless(era);
    return isOwned && owner?.isListener !== true ? owner : undefined;
  }

  /** A remote server of the modern era keeps nothing between two requests: there is nothing to keep apart. */
  #isSessionless(era: Era): boolean {
    return this.#options.isRemote && era === 'modern';
  }

  /** The member that belongs to a session alone. */
  memberOf(owner: Owner): Member | undefined {
    if (this.#options.isolation !== 'session') return undefined;
    return this.#byOwner.legacy.get(owner) ?? this.#byOwner.modern.get(owner);
  }

  /** The session has ended: its own connection goes, a shared one stays. */
  release(owner: Owner): void {
    for (const byOwner of Object.values(this.#byOwner)) {
      const member = byOwner.get(owner);
      byOwner.delete(owner);
      if (member?.owner === owner) void this.close(member, new StoppedError('the client session has ended'));
    }
  }

  /** Ends one member gracefully; calls still on it end with `error`. */
  close(member: Member, error: GatewayError, parting?: Parting): Promise<void> {
    if (!this.#remove(member)) return this.#leaving.get(member) ?? Promise.resolve();
    member.connection.failAll(error);
    if (parting !== undefined) member.owner?.onParting(this.#options.server, parting, error);
    return this.#leave(member);
  }

  /** Lets the calls in flight end within `graceMs`, then closes everything. */
  async drain(graceMs: number, parting: Parting = 'stopped'): Promise<void> {
    this.#isDraining = true;
    const deadline = performance.now() + graceMs;
    while (performance.now() < deadline && [...this.#members].some((member) => member.inFlight > 0)) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const { server } = this.#options;
    const error = new StoppedError(
      `server ${server} was stopped before the call was answered; it starts again on the next`,
    );
    for (const member of [...this.#members]) void this.close(member, error, parting);
    await Promise.all(this.#leaving.values());
  }

  /** Ends everything at once. */
  kill(error: GatewayError): void {
    for (const member of this.#leaving.keys()) member.connection.link.kill();
    for (const member of [...this.#members]) {
      this.#remove(member);
      member.connection.failAll(error);
      this.#lastWords.keep(member, performance.now());
      member.connection.link.kill();
      member.owner?.onParting(this.#options.server, 'crashed', error);
    }
  }

  #shared(owner: Owner | undefined, era: Era): Member {
    const max = this.#isSessionless(era) ? 1 : this.#options.max;
    const stuck = max > 1 ? this.#byOwner[era].get(owner) : undefined;
    if (stuck !== undefined) return stuck;
    let best: Member | undefined;
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

  #own(owner: Owner | undefined, era: Era): Member {
    const own = this.#byOwner[era].get(owner);
    if (own !== undefined) return own;
    if (this.#members.size >= this.#options.max) this.#evictOne();
    const member = this.#open(owner, era);
    this.#byOwner[era].set(owner, member);
    return member;
  }

  #evictOne(): void {
    let oldest: Member | undefined;
    for (const member of this.#members) {
      if (member.inFlight > 0 || !member.isOpen || member.isClosing || member.owner?.hasOpenStream === true)
        continue;
      if (this.#options.isHeardBySome(member)) continue;
      if (oldest === undefined || member.lastUsedAt < oldest.lastUsedAt) oldest = member;
    }
    const { server, max } = this.#options;
    if (oldest === undefined) {
      throw new UnavailableError(
        `all ${max} connections of server ${server} are in use by other sessions; try later, or raise pool.max`,
        1,
      );
    }
    void this.close(
      oldest,
      new StoppedError(`the session made room for a newer one (pool.max ${max})`),
      'evicted',
    );
    // It is on its way out and holds its place no longer; `close` sees to its end.
    this.#members.delete(oldest);
  }

  #open(owner: Owner | undefined, era: Era): Member {
    const now = performance.now();
    const member: Member = {
      owner,
      era,
      connection: undefined as unknown as Connection,
      opening: Promise.resolve(),
      isOpen: false,
      isClosing: false,
      inFlight: 0,
      lastUsedAt: now,
      missedPings: 0,
      renewals: 0,
      openedAt: now,
    };
    this.#members.add(member);
    member.opening = this.#connect(member);
    return member;
  }

  async #connect(member: Member): Promise<void> {
    const { server, startTimeoutMs, makeLink } = this.#options;
    const deadline = performance.now() + startTimeoutMs;
    const connection = new Connection(server, member.era, makeLink, {
      onRequest: (_, envelope, call) => this.#options.onRequest(member, envelope, call),
      onNotification: (_, envelope, call) => this.#options.onNotification(member, envelope, call),
      onNoise: (_, what) => this.#options.onNoise(what),
      onUndelivered: (_, call, error) => this.#options.onUndelivered(call, error),
      ...(this.#isSessionless(member.era)
        ? { onHeaderMismatch: (_, call) => this.#options.onHeaderMismatch(member, call) }
        : {}),
      onEnd: (ended, error) => {
        if (member.connection === ended) this.#onEnd(member, error);
      },
    });
    member.connection = connection;
    try {
      await connection.introduce(this.#introductionFor(member.owner), startTimeoutMs);
      await this.#options.onHandshake(member, Math.max(1, deadline - performance.now()));
      if (member.isClosing) return;
      // It may have died while its lists were fetched, whose failure alone fails no start.
      if (connection.endError !== undefined) throw connection.endError;
      member.isOpen = true;
      member.openedAt = performance.now();
      // A session that takes the place of a lost one was not used by that.
      if (member.renewals === 0) member.lastUsedAt = member.openedAt;
      this.#options.onOpen(member);
    } catch (error) {
      if (member.isClosing) return;
      this.#failOpening(
        member,
        startFailure(
          server,
          startTimeoutMs,
          withEraAdvice(member.era, error as GatewayError),
          connection.link.stderrTail,
        ),
      );
    }
  }

  #failOpening(member: Member, error: GatewayError): void {
    this.#remove(member);
    void this.#leave(member);
    this.#aloneUntil = performance.now() + FURTHER_PAUSE_MS;
    this.#options.onOpenFailed(member, error);
    if (this.#members.size === 0 && !this.#isDraining) this.#options.onLost(error);
  }

  #onEnd(member: Member, error: GatewayError): void {
    // While it is being opened its failure is noticed by whoever opens it.
    if (member.isClosing || !member.isOpen) return;
    if (this.#options.isRemote && this.#renew(member, error)) return;
    member.isOpen = false;
    this.#remove(member);
    // What is left of it (descendants of a dead process) goes too.
    void this.#leave(member);
    this.#options.onMemberEnded(member, error);
    member.owner?.onParting(this.#options.server, 'crashed', error);
    const isShared = this.#options.isolation === 'shared';
    if (isShared && this.#members.size === 0 && !this.#isDraining) this.#options.onLost(error);
  }

  /**
   * The remote side has forgotten the session, or broken the stream that was it: one new handshake for everybody who
   * waits. False when it is no use: it has just been done, and nothing was answered since.
   */
  #renew(member: Member, error: GatewayError): boolean {
    if (this.#isDraining) return false;
    if (performance.now() - member.openedAt > STEADY_MS) member.renewals = 0;
    if (member.renewals >= MAX_RENEWALS) return false;
    member.isOpen = false;
    member.renewals += 1;
    void this.#connect(member);
    this.#options.onMemberEnded(member, error);
    return true;
  }

  /** Takes a member out of the pool; false when it was out already. */
  #remove(member: Member): boolean {
    if (member.isClosing) return false;
    member.isClosing = true;
    this.#members.delete(member);
    const byOwner = this.#byOwner[member.era];
    if (byOwner.get(member.owner) === member) byOwner.delete(member.owner);
    else for (const [owner, stuck] of byOwner) if (stuck === member) byOwner.delete(owner);
    return true;
  }

  #leave(member: Member): Promise<void> {
    const endedAt = performance.now();
    const gone = member.connection.link.close().finally(() => {
      this.#leaving.delete(member);
      this.#lastWords.keep(member, endedAt);
    });
    this.#leaving.set(member, gone);
    return gone;
  }

  #introductionFor(owner: Owner | undefined): Introduction {
    const { isolation, introduction, forwardsRoots } = this.#options;
    if (isolation === 'shared' || owner === undefined) return introduction;
    const { roots, ...rest } = owner.capabilities;
    return {
      protocolVersion: owner.protocolVersion,
      clientInfo: owner.clientInfo,
      capabilities: forwardsRoots && roots !== undefined ? { ...rest, roots } : rest,
    };
  }
}

function startFailure(
  server: string,
  startTimeoutMs: number,
  error: GatewayError,
  tail: readonly string[],
): GatewayError {
  if (error.code === 'ERR_DEADLINE') {
    const last = tail.at(-1);
    const said = last === undefined ? '' : `its last line on stderr: ${last}; `;
    return new StartTimeoutError(
      `server ${server} did not finish initialize within ${startTimeoutMs / 1000} s; ${said}` +
        'raise start_timeout_seconds if it needs longer',
      { cause: error },
    );
  }
  const own = error instanceof StartFailedError ? error.stderrTail : [];
  return new StartFailedError(
    `server ${server} could not be started: ${error.message}`,
    own.length > 0 ? own : tail,
    {
      cause: error,
    },
  );
}
