// A link carries JSON-RPC messages to and from one upstream MCP server: one local process, or one remote
// session. It knows framing, limits and transport errors; it does not know what the messages mean, except that
// a transport with a response stream per request (HTTP) tells on which request's stream a message came.
//
// L1  `onEnd` is called exactly once, after the last `onMessage`.
// L2  after `close()` or `kill()` nothing of the link remains: no process, socket or timer.
// L3  a message is delivered whole and byte for byte, or, beyond `maxMessageBytes`, reported by `onOversized`.
// L4  `send` never throws and never blocks; what cannot be delivered is reported by `onUndelivered` or `onEnd`.

import type { GatewayError } from '../../base/errors/errors.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';

/** Our own id of a request that is in flight on the link. */
export type CallId = number;

/** Where a request belongs in the traces of its client: a W3C `traceparent`, which is made when it is first read. */
export interface Trace {
  readonly traceparent?: string | undefined;
}

export interface LinkEvents {
  /** One JSON value as received, without line end. `call` names the request on whose own stream it came. */
  onMessage(bytes: Buffer, call?: CallId): void;
  /** As `onMessage`, for a large answer that was read while it came and is still in pieces; without this it is put together. */
  onLargeAnswer?(answer: Envelope): void;
  /**
   * A message beyond the limit was dropped: an answer with this raw JSON-RPC id, or a question of the server with that one.
   * `call` is the request on whose stream it came.
   */
  onOversized(size: number, id: string | undefined, requestId: string | undefined, call?: CallId): void;
  /**
   * This request will get no answer, although the link lives on (an HTTP error status, a broken stream).
   * `wasCarriedOut: false` means that the server certainly did not act on it.
   */
  onUndelivered(call: CallId, error: GatewayError, wasCarriedOut: boolean): void;
  /** The link is over, by itself or by `close`/`kill`. */
  onEnd(error: GatewayError): void;
}

export interface Link {
  /** Process id of a local server. */
  readonly pid: number | undefined;
  /** The node of the cluster at which the server runs, where it has a place in one. */
  readonly node?: string | undefined;
  /** Last lines the server wrote to stderr, redacted; empty for remote servers. */
  readonly stderrTail: readonly string[];
  /** Lines a local server wrote to stdout that were no messages. */
  readonly noiseLines?: number;
  /** It takes nothing more, and `onEnd` follows or has been. */
  readonly isOver: boolean;
  /** Bytes accepted by `send` and not yet taken by the server. */
  readonly queuedBytes: number;
  /** Starts the process or prepares the session. Rejects with StartFailedError. */
  open(): Promise<void>;
  /**
   * Sends one message. `call` is given for requests, so that a per-request stream can be linked to it;
   * `trace` is sent along where the transport has headers, and never put into the message.
   */
  send(bytes: Buffer, call?: CallId, trace?: Trace): void;
  /** Nobody waits for this request any more: give up its stream. */
  forget(call: CallId): void;
  /** Handshake done: opens what the transport opens then (HTTP: version header from now on, the GET stream). */
  ready(protocolVersion: string): void;
  /** Ends gracefully: HTTP DELETE; or stdin closed, TERM to the group after 1 s, KILL after 1 s more. */
  close(): Promise<void>;
  /** Ends at once: the process group is killed, sockets are destroyed. */
  kill(): void;
}
