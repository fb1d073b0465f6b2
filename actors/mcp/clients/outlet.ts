// Interfaces of the front ends for messages to a client: within a request (Outlet) or outside requests
// (Stream). The HTTP front end creates an outlet per POST and a stream per GET; the stdio front end uses one
// object for both. Sending neither throws nor blocks.

import type { GatewayError } from '../../base/errors/errors.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import type { Message } from '../jsonrpc/span.ts';

/** Destination of messages within a request. */
export interface Outlet {
  /** Sends a message that precedes the response. Several receivers may share the buffers of the message. */
  send(message: Message): void;
  /**
   * Sends the response. `error` is set for gateway errors; `rpcCode` for JSON-RPC errors about the request
   * itself. Transports may map both, for example to an HTTP status.
   */
  finish(message: Buffer, error?: GatewayError, rpcCode?: number): void;
  /**
   * Replaces `finish` for receivers in this process: receives the unedited response, with the server's
   * request id.
   */
  answer?(answer: Envelope): void;
  /** Same as `finish`, for a large response in pieces. If absent, the pieces are concatenated. */
  finishInPieces?(pieces: readonly Buffer[], rpcCode?: number): void;
  /**
   * Same as `finish` with a gateway error, for receivers in this process. If absent, an error message is
   * sent. `isUnsent`: the request was certainly not sent to the server.
   */
  fail?(error: GatewayError, isUnsent: boolean): void;
  /** Returns the HTTP status of the response with this error; absent for other transports. */
  statusOf?(error: GatewayError | undefined, rpcCode: number | undefined): number;
  /** Closes the outlet without a response: the client cancelled. */
  drop(): void;
}

/** Destination of messages outside requests. */
export interface Stream {
  /** True if the client is connected. Otherwise the stream stores messages until the client reconnects. */
  readonly isConnected: boolean;
  send(message: Buffer): void;
  /** Closes the stream when the session closes. */
  end(): void;
}
