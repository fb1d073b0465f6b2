// One member of a server's pool: a connection that is being opened or is open, and who it belongs to.

import type { Era } from '../../jsonrpc/modern-meta.ts';
import type { CallOwner } from '../calls/call-owner.ts';
import type { Connection } from './connection.ts';

export interface PoolMember {
  /** Under session isolation the session it belongs to; undefined for everybody's. */
  readonly owner: CallOwner | undefined;
  readonly era: Era;
  connection: Connection;
  /** Settles when the handshake is done or has failed. Never rejects. */
  opening: Promise<void>;
  /** The handshake is done: calls may be sent. */
  isOpen: boolean;
  /** Why it is being ended by us; a connection that ends without one has crashed. */
  isClosing: boolean;
  /** Clients' calls in flight. */
  inFlight: number;
  /** performance.now() of the last call of a client. */
  lastUsedAt: number;
  missedPings: number;
  /** A ping has not been answered yet, nor given up. */
  isPinged: boolean;
  /** Ended and opened anew in place since the last answer, because the remote side forgot the session. */
  renewals: number;
  /** performance.now() of the end of its last handshake. */
  openedAt: number;
}

/** Whether calls may be sent on it. */
export function canTake({ isOpen, isClosing, connection }: PoolMember): boolean {
  return isOpen && !isClosing && !connection.link.isOver;
}
