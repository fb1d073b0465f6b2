// One member of a server's pool: a connection that is being opened or is open, and who it belongs to.

import type { Era } from '../../jsonrpc/modern-meta.ts';
import type { CallMember } from '../calls/call.ts';
import type { CallOwner } from '../calls/call-owner.ts';
import type { Connection } from './connection.ts';

export interface PoolMember extends CallMember {
  /** Under session isolation the session it belongs to; undefined for everybody's. */
  readonly owner: CallOwner | undefined;
  readonly era: Era;
  connection: Connection;
  /** Settles when the handshake is done or has failed. Never rejects. */
  opening: Promise<void>;
  missedPings: number;
  /** A ping has not been answered yet, nor given up. */
  isPinged: boolean;
  /** performance.now() of the end of its last handshake. */
  openedAt: number;
}

/** Whether calls may be sent on it. */
export function canTake({ isOpen, isClosing, connection }: CallMember): boolean {
  return isOpen && !isClosing && !connection.link.isOver;
}
