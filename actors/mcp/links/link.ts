// A link carries JSON-RPC messages to and from one MCP server: a local process or a remote session. It
// handles framing, limits and transport errors, not the content of messages. Over HTTP each request has its
// own response stream, so the link also reports the request on which a message arrived.
//
// L1  `onEnd` is called exactly once, after the last `onMessage`.
// L2  after `close()` or `kill()` no process, socket or timer of the link remains.
// L3  a message is delivered complete and byte for byte; above `maxMessageBytes`, `onOversized` reports it.
// L4  `send` never throws and never blocks; undelivered messages are reported by `onUndelivered` or `onEnd`.

import type { GatewayError } from '../../base/errors/errors.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';

/** Request id of the gateway on this link. */
export type CallId = number;

/** Trace context of a request: a W3C `traceparent`. A getter may create it on the first read. */
export interface Trace {
  readonly traceparent?: string | undefined;
}

export interface LinkEvents {
  /** Receives one JSON value without surrounding white space. `call` is the request on which it arrived. */
  onMessage(bytes: Buffer, call?: CallId): void;
  /** Like `onMessage`, for a large response in pieces. If absent, the pieces are joined. */
  onLargeAnswer?(answer: Envelope): void;
  /**
   * A message that exceeds the size limit was dropped: a response with the raw JSON-RPC id `id`, or a server
   * request with `requestId`. `call` is the request on which it arrived.
   */
  onOversized(size: number, id: string | undefined, requestId: string | undefined, call?: CallId): void;
  /**
   * This request will get no response, but the link continues (an HTTP error status, a broken stream).
   * `mayHaveRun: false`: the server certainly did not execute it.
   */
  onUndelivered(call: CallId, error: GatewayError, mayHaveRun: boolean): void;
  /** The link is closed, unexpectedly or by `close`/`kill`. */
  onEnd(error: GatewayError): void;
}

export interface Link {
  /** Process id, for local servers. */
  readonly pid: number | undefined;
  /** Cluster node that runs the server, if its catalog entry has a `placement`. */
  readonly node?: string | undefined;
  /** Last stderr lines of the server, redacted; empty for remote servers. */
  readonly stderrTail: readonly string[];
  /** Number of stdout lines that were not messages, for local servers. */
  readonly noiseLines?: number;
  /** Advice for a failed start, because of the options of the command. */
  readonly advice?: string | undefined;
  /** True if the link accepts no more messages; `onEnd` follows or was called. */
  readonly isOver: boolean;
  /** Number of bytes accepted by `send` and not yet read by the server. */
  readonly queuedBytes: number;
  /** Starts the process or prepares the session. Rejects with StartFailedError. */
  open(): Promise<void>;
  /**
   * Sends a message. `call` is set for requests. `trace` is sent as a header if the transport has headers,
   * never in the message.
   */
  send(bytes: Buffer, call?: CallId, trace?: Trace): void;
  /** Called when a health ping was sent. Log lines of a local server about pings are logged only once. */
  notePing?(): void;
  /** Closes the stream of an abandoned request. */
  forget(call: CallId): void;
  /** Called after the handshake: sets the version header and opens the GET stream (HTTP). */
  ready(protocolVersion: string): void;
  /**
   * Closes gracefully. Remote: DELETE of the session. Local: closes stdin, sends TERM to the process group
   * after 1 s, KILL after 1 s more.
   */
  close(): Promise<void>;
  /** Kills the process group or destroys the sockets, immediately. */
  kill(): void;
}
