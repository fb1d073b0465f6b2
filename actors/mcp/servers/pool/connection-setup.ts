// Sets up a pool member: makes and initialises its connection, and learns the server's lists, all within one start
// timeout. A remote member whose session is lost is set up once more, in its place.
//
// OS1  each `open` or `again` ends in exactly one `onOpen` or `onFailed`, unless the member is closed before.
// OS2  the end of a connection is told only where it is still the member's own, and not while it is being opened.
// OS3  a session's connection is introduced as that session; one that many share promises nothing in anybody's name.

import { type GatewayError, StartFailedError, StartTimeoutError } from '../../../base/errors/errors.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import type { Link, LinkEvents } from '../../links/link.ts';
import { tellingLine } from '../../links/stdio/telling-line.ts';
import type { Call } from '../calls/call.ts';
import type { CallOwner } from '../calls/call-owner.ts';
import { withEraAdvice } from '../eras/era-advice.ts';
import { Connection, type Introduction } from './connection.ts';
import { type MemberConnector, PoolMember } from './pool-member.ts';

export interface ConnectionSetupOptions {
  readonly server: string;
  readonly isolation: 'shared' | 'session';
  readonly startTimeoutMs: number;
  readonly introduction: Introduction;
  readonly forwardsRoots: boolean;
  /** The far end is a session, not a process: when it is lost by itself, another takes its place. */
  readonly isRemote: boolean;
  /** Of a local server. */
  readonly command: string | undefined;
  makeLink(events: LinkEvents, era: Era): Link;
  /** Called after each handshake, within what is left of the start timeout. */
  onHandshake(member: PoolMember, leftMs: number): Promise<void>;
  readonly onErrorAnswer: ((answer: Envelope) => Envelope) | undefined;
  onUndelivered(call: Call, error: GatewayError): void;
  /** A remote server missed headers that a tool's schema asks for: the schema is not what it was. */
  onHeaderMismatch(member: PoolMember, call: Call): void;
  onRequest(member: PoolMember, envelope: Envelope, call: Call | undefined): void;
  onNotification(member: PoolMember, envelope: Envelope, call: Call | undefined): void;
  onNoise(what: string): void;
}

/** Hears what becomes of a member. */
export interface MemberObserver {
  /** Calls may be sent on it. */
  onOpen(member: PoolMember): void;
  onFailed(member: PoolMember, error: GatewayError): void;
  /** It was open, and has ended by itself. */
  onEnd(member: PoolMember, error: GatewayError): void;
}

/** A remote server of the modern era keeps nothing between two requests: there is nothing to keep apart. */
export function isSessionless(isRemote: boolean, era: Era): boolean {
  return isRemote && era === 'modern';
}

export class ConnectionSetup implements MemberConnector {
  readonly #options: ConnectionSetupOptions;
  readonly #observer: MemberObserver;

  constructor(options: ConnectionSetupOptions, observer: MemberObserver) {
    this.#options = options;
    this.#observer = observer;
  }

  /** A member whose connection is being opened; the observer hears nothing before this returns. */
  open(owner: CallOwner | undefined, era: Era): PoolMember {
    return new PoolMember(owner, era, this);
  }

  /** Gives a member whose session is lost a new one. */
  again(member: PoolMember): void {
    member.isOpen = false;
    member.renewals += 1;
    member.connection = this.makeConnection(member);
    void this.introduce(member);
  }

  async introduce(member: PoolMember): Promise<void> {
    const { startTimeoutMs } = this.#options;
    const deadline = performance.now() + startTimeoutMs;
    const { connection } = member;
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
      this.#observer.onOpen(member);
    } catch (error) {
      if (!member.isClosing) this.#observer.onFailed(member, this.#failure(member, error as GatewayError));
    }
  }

  makeConnection(member: PoolMember): Connection {
    const { server, isRemote, makeLink, onErrorAnswer } = this.#options;
    return new Connection(server, member.era, makeLink, {
      onErrorAnswer,
      onRequest: (_, envelope, call) => this.#options.onRequest(member, envelope, call),
      onNotification: (_, envelope, call) => this.#options.onNotification(member, envelope, call),
      onNoise: (_, what) => this.#options.onNoise(what),
      onUndelivered: (_, call, error) => this.#options.onUndelivered(call, error),
      ...(isSessionless(isRemote, member.era)
        ? { onHeaderMismatch: (_, call) => this.#options.onHeaderMismatch(member, call) }
        : {}),
      onEnd: (ended, error) => {
        // While it is being opened its failure is noticed by whoever opens it.
        const isTold = member.connection === ended && member.isOpen && !member.isClosing;
        if (isTold) this.#observer.onEnd(member, error);
      },
    });
  }

  #introductionFor(owner: CallOwner | undefined): Introduction {
    const { isolation, introduction, forwardsRoots } = this.#options;
    if (isolation === 'shared' || owner === undefined) return introduction;
    return {
      protocolVersion: owner.protocolVersion,
      // Asked for anew each time: what a client says of itself is not kept in parts.
      get clientInfo() {
        return owner.clientInfo;
      },
      get capabilities() {
        const { roots, ...rest } = owner.capabilities;
        return forwardsRoots && roots !== undefined ? { ...rest, roots } : rest;
      },
    };
  }

  /** Why the member could not be opened, in words for the operator. */
  #failure({ era, connection }: PoolMember, error: GatewayError): GatewayError {
    const { server, startTimeoutMs } = this.#options;
    const { stderrTail } = connection.link;
    const cause = withEraAdvice(era, error);
    if (cause.code === 'ERR_DEADLINE') {
      const advice = this.#adviceFor(connection.link);
      return new StartTimeoutError(
        `server ${server} did not finish initialize within ${startTimeoutMs / 1000} s; ${advice}`,
        { cause },
      );
    }
    const own = cause instanceof StartFailedError ? cause.stderrTail : [];
    const tail = own.length > 0 ? own : stderrTail;
    return new StartFailedError(`server ${server} could not be started: ${cause.message}`, tail, { cause });
  }

  /** What a server that takes too long has said, and what to do about it. */
  #adviceFor({ stderrTail, noiseLines = 0 }: Link): string {
    const said = tellingLine(stderrTail);
    const before = said === undefined ? '' : `${said}; `;
    if (noiseLines > 0) {
      const noise =
        noiseLines === 1
          ? '1 line to stdout that is no MCP message'
          : `${noiseLines} lines to stdout that are no MCP messages`;
      return `${before}it wrote ${noise}, so is it an MCP server?`;
    }
    // They are silent while they install, and while they cannot reach their registry.
    const [installer] = installers.exec(this.#options.command ?? '') ?? [];
    const silence =
      installer === undefined || said !== undefined
        ? ''
        : `${installer} may still be installing: run it once by hand, and check the network; `;
    return `${before}${silence}raise start_timeout_seconds if it needs longer`;
  }
}

/** Commands that fetch a program before they run it. */
const installers = /(?<![^/])(?:npx|uvx)$/;
