// The owner of a call, as far as a server needs to know it: what the client declared, and where to put what the server
// sends.

import type { GatewayError } from '../../../base/errors/errors.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';

/** A connection with a server, as the receiver of its messages knows it. */
export interface ServerPeer {
  readonly server: string;
  sendRaw(message: Buffer): void;
}

/** A call on whose stream a message of the server may be sent to the client. */
export interface RelayingCall {
  readonly isDone: boolean;
  relay(message: Buffer): void;
}

/** Why a session's own connection is over. */
export type ConnectionEnd = 'crashed' | 'idle' | 'evicted' | 'stopped';

export interface CallOwner {
  /** Tells sessions apart in logs and records. Not the id: whoever knows that can take the session over (A9). */
  readonly label: string;
  /** The era in which it is served, where the server speaks it. */
  readonly era: Era;
  /** It only listens: it needs no connection of its own, under session isolation neither. */
  readonly isListener: boolean;
  readonly protocolVersion: string;
  readonly clientInfo: unknown;
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** The client is gone for good: nothing is begun for it any more. */
  readonly isEnded?: boolean;
  /** A stream is open on which the client hears what belongs to no call of its own. */
  readonly hasOpenStream: boolean;
  /** Since when, in performance.now() milliseconds, its only call has waited for nothing but its client to come back. */
  readonly suspendedAt?: number | undefined;
  /** Ends that call with this error; its connection is free when this returns. */
  giveWay?(error: GatewayError): void;
  /** The session is this server's alone; one of many servers keeps none of them awake by listening. */
  belongsTo(server: string): boolean;
  /** Handles a request of the server to the client; `call` is set if the request belongs to it. */
  onServerRequest(connection: ServerPeer, envelope: Envelope, call: RelayingCall | undefined): void;
  /** Handles a notification of the server for this client. */
  onServerNotification(connection: ServerPeer, envelope: Envelope, call: RelayingCall | undefined): void;
  /** The session's own connection is over. */
  onConnectionEnd(server: string, why: ConnectionEnd, error: GatewayError): void;
}
