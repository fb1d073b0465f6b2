// The client session that owns a call, as seen by a server: its identity and capabilities, and the receiver
// of server messages.

import type { GatewayError } from '../../../base/errors/errors.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import type { ClientShares } from './client-shares.ts';

/** A connection to a server, for responses to its messages. */
export interface ServerPeer {
  readonly server: string;
  sendRaw(message: Buffer): void;
  /**
   * Pauses the time limits of `call`, or of all clients' calls in flight if `call` is undefined, until
   * `resume` with the same key.
   */
  pause(key: object, call: RelayingCall | undefined): void;
  resume(key: object): void;
}

/** A call whose response stream can carry server messages to the client. */
export interface RelayingCall {
  readonly isDone: boolean;
  relay(message: Buffer): void;
}

/** Reason why a private connection was closed. */
export type ConnectionEnd = 'crashed' | 'idle' | 'evicted' | 'stopped';

/**
 * A client session, a listening client (stateless, with an open `subscriptions/listen`), or an exclusive
 * connection (serves one modern request at a legacy server; clients/eras/exclusive-connection.ts).
 */
export interface CallOwner {
  /**
   * Identifies the session in logs and records. Never the session id, which would allow a takeover (A9,
   * ARCHITECTURE.md).
   */
  readonly label: string;
  /** Shares of the client in the limits of calls; undefined if it has no sessions. */
  readonly shares?: ClientShares | undefined;
  /** Preferred protocol era (sessions, or stateless requests), used if the server supports the era. */
  readonly era: Era;
  /** True for a listening client: it needs no private connection, even with `isolation: session`. */
  readonly isListener: boolean;
  readonly protocolVersion: string;
  readonly clientInfo: unknown;
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** True if the client has disconnected for good; no new work is started for it. */
  readonly isEnded?: boolean;
  /** True if the client has an open stream for messages outside calls. */
  readonly hasOpenStream: boolean;
  /**
   * Start of the suspension of its only call, in performance.now() milliseconds; undefined if the call is not
   * suspended. A suspended call waits at its server while its modern client answers a question.
   */
  readonly suspendedAt?: number | undefined;
  /** Fails the suspended call with this error. Its connection is free when this returns. */
  yieldConnection?(error: GatewayError): void;
  /**
   * Returns true if the session uses this server only. A session of several servers does not keep a server
   * running by listening.
   */
  belongsTo(server: string): boolean;
  /** Handles a request of the server. `call` is set if the transport links the request to a call. */
  onServerRequest(connection: ServerPeer, envelope: Envelope, call: RelayingCall | undefined): void;
  /** Handles a notification of the server for this client. */
  onServerNotification(connection: ServerPeer, envelope: Envelope, call: RelayingCall | undefined): void;
  /** Called when the private connection of the session was closed. */
  onConnectionEnd(server: string, why: ConnectionEnd, error: GatewayError): void;
}
