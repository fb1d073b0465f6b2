// Opens a pool member's connection: link, handshake and lists, within one start timeout. A remote member that
// lost its session gets a new connection (a "renewal"). Each `open` or `reopen` is followed by one `onOpen`
// or `onFailed`, unless the member is closed first; `onEnd` reports only the loss of an open member. The
// handshake of a private connection contains the identity of its session. The handshake of a shared
// connection declares no client capabilities.

import { type GatewayError, StartFailedError, StartTimeoutError } from '../../../base/errors/errors.ts';
import { within } from '../../../base/time/within.ts';
import type { NpxFolder } from '../../installs/npx-folder.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import type { Link, LinkEvents } from '../../links/link.ts';
import { informativeLine } from '../../links/stdio/exit-cause.ts';
import type { Call } from '../calls/call.ts';
import type { CallOwner } from '../calls/owner.ts';
import { withEraAdvice } from '../eras/advice.ts';
import { Connection, type Introduction } from './connection.ts';
import { type MemberConnector, PoolMember } from './pool-member.ts';

export interface ConnectionSetupOptions {
  readonly server: string;
  readonly isolation: 'shared' | 'session';
  readonly startTimeoutMs: number;
  readonly introduction: Introduction;
  readonly forwardsRoots: boolean;
  /** True for a remote server: a lost session is replaced by a new one. */
  readonly isRemote: boolean;
  /** Command line, for local servers. */
  readonly command: string | undefined;
  /** Forward proxy of a remote server. */
  readonly proxyHost: string | undefined;
  makeLink(events: LinkEvents, era: Era): Link;
  /** Folder of npx for the server. */
  readonly installFolder?: NpxFolder | undefined;
  /** Called after each handshake, with the rest of the start timeout. */
  onHandshake(member: PoolMember, remainingMs: number): Promise<void>;
  readonly onErrorAnswer: ((answer: Envelope) => Envelope) | undefined;
  onUndelivered(call: Call, error: GatewayError): void;
  /** Called if a remote server rejects a call because headers that the tool's schema requires are missing. */
  onHeaderMismatch(member: PoolMember, call: Call): void;
  onRequest(member: PoolMember, envelope: Envelope, call: Call | undefined): void;
  onNotification(member: PoolMember, envelope: Envelope, call: Call | undefined): void;
  onNoise(message: string): void;
}

/** Notified of the states of members. */
export interface MemberObserver {
  /** The member is open; calls may be sent. */
  onOpen(member: PoolMember): void;
  onFailed(member: PoolMember, error: GatewayError): void;
  /** The open member was lost. */
  onEnd(member: PoolMember, error: GatewayError): void;
}

/** Returns true for stateless connections: remote servers of the modern era (2026-07-28). */
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

  /**
   * Creates a member and opens its connection. `owner` is the client session of a private connection. The
   * observer is notified only after this returns.
   */
  open(owner: CallOwner | undefined, era: Era): PoolMember {
    return new PoolMember(owner, era, this);
  }

  /** Opens a new connection for a member that lost its session. */
  reopen(member: PoolMember): void {
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
      // A failed fetch of lists does not fail the start, but a connection lost meanwhile does.
      if (connection.endError !== undefined) throw connection.endError;
      member.isOpen = true;
      member.openedAt = performance.now();
      // Only a first handshake counts as use.
      if (member.renewals === 0) member.lastUsedAt = member.openedAt;
      this.#observer.onOpen(member);
    } catch (error) {
      if (member.isClosing) return;
      const failure = await this.#failure(member, error as GatewayError);
      if (!member.isClosing) this.#observer.onFailed(member, failure);
    }
  }

  makeConnection(member: PoolMember): Connection {
    const { server, isRemote, makeLink, onErrorAnswer } = this.#options;
    return new Connection(server, member.era, makeLink, {
      onErrorAnswer,
      onRequest: (_, envelope, call) => this.#options.onRequest(member, envelope, call),
      onNotification: (_, envelope, call) => this.#options.onNotification(member, envelope, call),
      onNoise: (_, message) => this.#options.onNoise(message),
      onUndelivered: (_, call, error) => this.#options.onUndelivered(call, error),
      ...(isSessionless(isRemote, member.era)
        ? { onHeaderMismatch: (_, call) => this.#options.onHeaderMismatch(member, call) }
        : {}),
      onEnd: (endedConnection, error) => {
        // During the setup `introduce` reports the failure.
        const isReported = member.connection === endedConnection && member.isOpen && !member.isClosing;
        if (isReported) this.#observer.onEnd(member, error);
      },
    });
  }

  #introductionFor(owner: CallOwner | undefined): Introduction {
    const { isolation, introduction, forwardsRoots } = this.#options;
    if (isolation === 'shared' || owner === undefined) return introduction;
    return {
      protocolVersion: owner.protocolVersion,
      // Getters, because the owner parses its client information on demand.
      get clientInfo() {
        return owner.clientInfo;
      },
      get capabilities() {
        const { roots, ...rest } = owner.capabilities;
        return forwardsRoots && roots !== undefined ? { ...rest, roots } : rest;
      },
    };
  }

  /** Returns the error for operators, with stderr lines or advice. */
  async #failure({ era, connection }: PoolMember, error: GatewayError): Promise<GatewayError> {
    const { server, startTimeoutMs } = this.#options;
    const { stderrTail } = connection.link;
    const cause = withEraAdvice(era, error);
    if (cause.code === 'ERR_DEADLINE') {
      const advice = (await isBuffering(connection)) ? BUFFERING_ADVICE : this.#adviceFor(connection.link);
      return new StartTimeoutError(
        `server ${server} did not complete initialize within ${startTimeoutMs / 1000} s; ${advice}`,
        { cause },
      );
    }
    const own = cause instanceof StartFailedError ? cause.stderrTail : [];
    const tail = own.length > 0 ? own : stderrTail;
    const remedy = this.#options.installFolder?.remedyFor(tail);
    const reason = remedy === undefined ? cause.message : `${cause.message}; ${remedy}`;
    return new StartFailedError(`server ${server} could not be started: ${reason}`, tail, { cause });
  }

  /** Returns the advice for a start timeout, with the most informative stderr line. */
  #adviceFor({ stderrTail, noiseLines = 0, advice }: Link): string {
    const stderrLine = informativeLine(stderrTail);
    const before = stderrLine === undefined ? '' : `${stderrLine}; `;
    if (advice !== undefined) return `${before}${advice}`;
    if (noiseLines > 0) {
      const noise =
        noiseLines === 1
          ? '1 line to stdout that is not an MCP message'
          : `${noiseLines} lines to stdout that are not MCP messages`;
      return `${before}it wrote ${noise}; check that it is an MCP server`;
    }
    // npx and uvx print nothing while they install or cannot reach their registry.
    const [installer] = installers.exec(this.#options.command ?? '') ?? [];
    const silence =
      installer === undefined || stderrLine !== undefined
        ? ''
        : `${installer} may still be installing: run the command once manually, and check the network; `;
    const { proxyHost } = this.#options;
    const proxied = proxyHost === undefined ? '' : `its requests go through the proxy ${proxyHost}; `;
    return `${before}${silence}${proxied}raise start_timeout_seconds if it needs longer`;
  }
}

/** Time for a process to exit after its stdin was closed. */
const EXIT_MS = 1_000;

const BUFFERING_ADVICE =
  'it answered only when its stdin was closed, so it probably buffers its output: set PYTHONUNBUFFERED=1 in ' +
  '`env` of a Python program, or let it flush stdout after each message';

/**
 * Closes a local server's link if the server has sent nothing. Returns true if it then sends a message: the C
 * library and Python write a buffered stdout only at the exit.
 */
async function isBuffering(connection: Connection): Promise<boolean> {
  const { link, lastMessageAt } = connection;
  if (link.pid === undefined) return false;
  await within(EXIT_MS, link.close());
  return connection.lastMessageAt > lastMessageAt;
}

/** Commands that download a program before they run it. */
const installers = /(?<![^/])(?:npx|uvx)$/;
