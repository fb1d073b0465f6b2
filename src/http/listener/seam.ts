// Interfaces between the routes and the HTTP server. There are two implementations, on uWebSockets.js and on
// node:http; test/e2e/http/http-seam.test.ts tests both. Request bodies, unsent bytes and durations are
// limited (A8, ARCHITECTURE.md).
//
// HS1  Each request gets exactly one response or abort. Afterwards the methods of its reply have no effect
//      (A2).
// HS2  A handler's exception is reported and fails only its request, with 500 or a cut stream (A6).

import type { BodyBudget } from '../body/body-budget.ts';
import type { Readers } from './readers.ts';

/** Response headers, without Content-Length, Transfer-Encoding and Date, which the listener writes. */
export type HeaderList = ReadonlyArray<readonly [name: string, value: string]>;

export interface HttpRequest {
  /** Method as sent, normally in upper case. For HEAD, the listener drops the body of the response. */
  readonly method: string;
  /** Path as sent, without the query: neither decoded nor normalised. */
  readonly path: string;
  /** Text after the first `?` as sent; may be ''. */
  readonly query: string;
  /**
   * Values by name in lower case. Repeated headers are joined by ', '. Values are decoded as UTF-8, with
   * U+FFFD for invalid bytes. The record has no prototype, so `__proto__` is an ordinary name.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** Peer address; empty once disconnected. */
  readonly remoteAddress: string;
  /** Port of the listener. */
  readonly localPort: number;
  /**
   * False if the HTTP server checks the framing too loosely, so that the body may differ from the sent one.
   * This concerns chunked bodies on uWebSockets.js (uws-chunks.ts). Must be checked before unsigned bytes are
   * trusted.
   */
  readonly isBodyExact: boolean;
}

/** Bytes or text (UTF-8). Large bodies may be in pieces, to avoid a copy. */
export type Body = string | Uint8Array | readonly Uint8Array[];

export interface HttpReply {
  /** True if the response is complete or the client has disconnected. */
  readonly isDone: boolean;
  /**
   * Sends the complete response. The header ['connection', 'close'] closes the connection afterwards. Throws
   * TypeError if a header is invalid, without sending anything. The bytes must not change afterwards.
   */
  send(status: number, headers: HeaderList, body?: Body): void;
  /** Selects the memory budget for the request body. Must be called before the handler returns. */
  limitBody(budget: BodyBudget): void;
  /** Starts a streamed response. Headers are checked as in `send`. May be called only in a BodyHandler. */
  stream(status: number, headers: HeaderList): HttpStream;
  /**
   * Sets the listener for a disconnect before `send`, or before `end` of the stream. A client that is cut off
   * because it reads too slowly also counts as disconnected. Replaces an earlier listener.
   */
  onAbort(listener: () => void): void;
  /**
   * Ends the response if it is a stream. The handler sees a disconnect; the client receives the complete
   * stream.
   */
  endStream(): void;
  /**
   * Sets the listener for the status of the response, or for undefined if the client disconnects before it.
   * Replaces an earlier listener.
   */
  onAnswered(listener: (status: number | undefined) => void): void;
  /** Calls a handler's code that runs later, so that HS2 also applies to its exceptions. */
  guard(code: () => void): void;
}

export interface HttpStream {
  /** True if the stream is closed or aborted, and for a HEAD request. Further writes are dropped. */
  readonly isDone: boolean;
  /** Number of written bytes that are not sent yet. */
  readonly bufferedBytes: number;
  /**
   * Writes bytes, which must not change afterwards. Returns false if they are queued; the caller should then
   * write no more until `onDrain`. Status and headers are sent with the first chunk, so the caller should
   * write a chunk immediately (for SSE a comment).
   */
  write(chunk: string | Uint8Array): boolean;
  /** Sets the listener that is called when the queue is empty again after `write` has returned false. */
  onDrain(listener: () => void): void;
  end(): void;
  /** Closes the connection, so that the client sees an incomplete stream. `onAbort` is not called. */
  destroy(): void;
}

/**
 * Why there is no body: it exceeds `maxBodyBytes` (respond with 413), did not arrive within `bodyTimeoutMs`
 * (408), or does not fit into the memory budget (503).
 */
export type BodyProblem = 'too_large' | 'too_slow' | 'over_budget';

/** Called when the body is complete, immediately if empty. Not called after a disconnect. */
export type BodyHandler = (request: HttpRequest, body: Buffer | BodyProblem, reply: HttpReply) => void;

/**
 * Called when the headers have arrived, before the body. Returns undefined after responding. The body is
 * discarded then. The response is sent when the body is complete; after LINGER_MS it is sent anyway, and the
 * connection is closed.
 */
export type RequestHandler = (request: HttpRequest, reply: HttpReply) => BodyHandler | undefined;

export interface ListenerOptions {
  readonly host: string;
  /** 0 selects a free port; `address` contains it. */
  readonly port: number;
  readonly maxBodyBytes: number;
  readonly bodyTimeoutMs?: number;
  readonly handler: RequestHandler;
  /** Memory budget for request bodies, which listeners may share. @default a separate budget */
  readonly bodies?: BodyBudget;
  /** Limit for slow readers, which listeners may share. @default a separate limit */
  readonly readers?: Readers;
  /** Called with exceptions of handlers and the listener. @default emits a process warning */
  readonly onFault?: (error: unknown) => void;
}

export interface Listener {
  readonly kind: 'uWebSockets.js' | 'node:http';
  readonly address: { readonly host: string; readonly port: number };
  /** Why node:http is used instead of uWebSockets.js; undefined if uWebSockets.js was not preferred. */
  readonly fallbackReason: string | undefined;
  /** Number of requests whose response was not sent completely yet. */
  readonly open: number;
  /** Refuses new connections. Existing connections are still served. */
  stopListening(): void;
  /** Closes all connections and aborts the open requests. */
  close(): void;
}

export const BODY_TIMEOUT_MS = 30_000;

/** Time for which a response is held back if the request body is incomplete (incoming-body.ts). */
export const LINGER_MS = 2_000;

/** Timeout for headers, between requests, and for stalled readers. Fixed in uWebSockets.js, so equal here. */
export const IDLE_TIMEOUT_MS = 10_000;

export const MAX_HEADER_BYTES = 16_384;
