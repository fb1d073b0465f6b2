// A pool member: a connection to the server that is open or being opened, and the session that owns it.

import type { Share } from '../../../base/bounds/budget.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import type { CallMember } from '../calls/call.ts';
import type { CallOwner } from '../calls/owner.ts';
import type { Connection } from './connection.ts';

/** Creates the connections of members and performs their handshakes. */
export interface MemberConnector {
  makeConnection(member: PoolMember): Connection;
  /** Resolves when the handshake is done or has failed. Never rejects. */
  introduce(member: PoolMember): Promise<void>;
}

export class PoolMember implements CallMember {
  /** Session with this private connection (`isolation: session`); undefined for a shared connection. */
  readonly owner: CallOwner | undefined;
  /** Protocol era of the connection: `legacy` (sessions) or `modern` (stateless requests). */
  readonly era: Era;
  connection: Connection;
  isOpen = false;
  isClosing = false;
  inFlight = 0;
  lastUsedAt = performance.now();
  /** The client's share of the private connections; undefined for a shared one. Written by Pool only. */
  share: Share | undefined;
  missedPings = 0;
  /** True while a ping is in flight. */
  isPinged = false;
  /** Number of new connections since the last response, because the remote server had lost the session. */
  renewals = 0;
  /** performance.now() of the last completed handshake. */
  openedAt = performance.now();
  /** Resolves when the first handshake is done or has failed. Never rejects. */
  readonly opening: Promise<void>;

  /** Opens the connection. */
  constructor(owner: CallOwner | undefined, era: Era, connector: MemberConnector) {
    this.owner = owner;
    this.era = era;
    this.connection = connector.makeConnection(this);
    this.opening = connector.introduce(this);
  }
}

/**
 * Returns true if the member has a client call that is not suspended. A suspended call waits at the server
 * while its client answers a question.
 */
export function hasActiveCall({ inFlight, connection }: PoolMember): boolean {
  let suspendedCount = 0;
  if (inFlight > 0) for (const call of connection.calls()) if (call.isSuspended) suspendedCount += 1;
  return inFlight > suspendedCount;
}
