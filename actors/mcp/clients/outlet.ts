// Where messages for a client are written, for one of its requests or for everything else. The HTTP front end has one
// per POST and one per GET stream; a stdio front end has one for all. Sending never throws and never blocks.

import type { GatewayError } from '../../base/errors/errors.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import type { Message } from '../jsonrpc/span.ts';

/** Where one request's messages go. */
export interface Outlet {
  /** A message that comes before the answer; in pieces where others are sent the same. */
  send(message: Message): void;
  /**
   * The answer; with `error` where the gateway made it up, and with the code of a JSON-RPC error that says something
   * of the request itself, so that a transport can show either in its own way.
   */
  finish(message: Buffer, error?: GatewayError, rpcCode?: number): void;
  /** Takes an unedited answer instead of `finish`, for a receiver in this process, which ignores the id. */
  answer?(answer: Envelope): void;
  /** As `finish`, for a large answer that need not be put together; without this method it is. */
  finishInPieces?(pieces: readonly Buffer[], rpcCode?: number): void;
  /**
   * As `finish` with an error that the gateway made up, for whoever needs no message of it; without this method it is one.
   * `isUnsent`: the server has certainly not been asked.
   */
  fail?(error: GatewayError, isUnsent: boolean): void;
  /** There will be no answer: the client has cancelled. */
  drop(): void;
}

/** Where messages go that belong to no request. */
export interface Stream {
  /** The client listens right now; until it comes back, a stream keeps what it is sent. */
  readonly isConnected: boolean;
  send(message: Buffer): void;
  /** The session is over. */
  end(): void;
}
