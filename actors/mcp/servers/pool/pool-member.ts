// One member of a server's pool: a connection that is being opened or is open, and who it belongs to.

import type { Era } from '../../jsonrpc/modern-meta.ts';
import type { CallMember } from '../calls/call.ts';
import type { CallOwner } from '../calls/call-owner.ts';
import type { Connection } from './connection.ts';

/** Makes and introduces the connection of a member. */
export interface MemberConnector {
  makeConnection(member: PoolMember): Connection;
  /** Settles when the handshake is done or has failed. Never rejects. */
  introduce(member: PoolMember): Promise<void>;
}

export class PoolMember implements CallMember {
  /** Under session isolation the session it belongs to; undefined for everybody's. */
  readonly owner: CallOwner | undefined;
  readonly era: Era;
  connection: Connection;
  isOpen = false;
  isClosing = false;
  inFlight = 0;
  lastUsedAt = performance.now();
  missedPings = 0;
  /** A ping has not been answered yet, nor given up. */
  isPinged = false;
  renewals = 0;
  /** performance.now() of the end of its last handshake. */
  openedAt = performance.now();
  /** Settles when the first handshake is done or has failed. Never rejects. */
  readonly opening: Promise<void>;

  /** Opens the connection. */
  constructor(owner: CallOwner | undefined, era: Era, connector: MemberConnector) {
    this.owner = owner;
    this.era = era;
    this.connection = connector.makeConnection(this);
    this.opening = connector.introduce(this);
  }
}
