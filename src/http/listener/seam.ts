// The seam between the routes and an HTTP server: one small set of interfaces with two fillings, uWebSockets.js
// and node:http. The routes know these interfaces only; the test test/e2e/http/http-seam.test.ts runs on both fillings.
//
// HS1  every request ends exactly once: answered, or aborted; afterwards each method of its reply does nothing (A2).
// HS2  what a handler throws ends that request (500, or a cut stream) and is reported; never the process (A6).
// HS3  bodies in and bytes out are bounded: `maxBodyBytes`, `bodyTimeoutMs`, `bufferedBytes`, and over all `bodies` and
//     `readers` (A8).

import type { BodyBudget } from '../body/body-budget.ts';
import type { Readers } from './readers.ts';

/** Names and values of an answer. Content-Length, Transfer-Encoding and Date belong to the seam and are left out. */
export type HeaderList = ReadonlyArray<readonly [name: string, value: string]>;

export interface HttpRequest {
  /** In capitals as sent. HEAD is told as HEAD; the seam drops the body of its answer. */
  readonly method: string;
  /** The raw path: no query, not decoded, not normalised. */
  readonly path: string;
  /** What stands after the first `?`, raw; '' without one. */
  readonly query: string;
  /**
   * Names in lower case; repeated headers joined by ', '. Values are read as UTF-8, what is none becomes U+FFFD. No
   * prototype, so that `__proto__` is a name like any other.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** Address of the peer; '' once it is gone. */
  readonly remoteAddress: string;
  /** Port of the listener. */
  readonly localPort: number;
  /**
   * False where the server beneath does not read the framing strictly, so that the body may be another than the one that
   * was sent: of chunks on uWebSockets.js (uws-chunks.ts). Who acts on bytes that prove nothing of themselves asks this.
   */
  readonly isBodyExact: boolean;
}

/** Bytes, or text in UTF-8; in pieces where to put them together would cost a copy of what is large. */
export type Body = string | Uint8Array | readonly Uint8Array[];

export interface HttpReply {
  /** True once the answer is complete, or the client has gone. */
  readonly isDone: boolean;
  /**
   * The whole answer. A header ['connection', 'close'] closes the connection afterwards. Throws TypeError, and
   * answers nothing, for a header that cannot be sent as it is. Bytes given must not be changed afterwards.
   */
  send(status: number, headers: HeaderList, body?: Body): void;
  /** What comes of the body is held at the cost of that budget. To be called before the handler returns. */
  limitBody(budget: BodyBudget): void;
  /** Begins a streamed answer; headers as for `send`. Only for use in a BodyHandler. */
  stream(status: number, headers: HeaderList): HttpStream;
  /**
   * Called at most once: the client went away before `send`, or before the stream's `end`, or takes too little of a
   * stream and was cut off. One listener.
   */
  onAbort(listener: () => void): void;
  /** Runs what a handler does later, when it is no longer on the stack: what that throws ends this request as HS2 has it. */
  guard(code: () => void): void;
}

export interface HttpStream {
  /** True once ended or aborted; writes are dropped then. The stream of a HEAD request is born done. */
  readonly isDone: boolean;
  /** Bytes accepted and not yet taken by the system. */
  readonly bufferedBytes: number;
  /**
   * False: the bytes are kept, but wait for `onDrain` before writing more. The status and the headers leave with
   * the first chunk, so write one at once (for SSE a comment). Bytes given must not be changed afterwards.
   */
  write(chunk: string | Uint8Array): boolean;
  /** Called each time after `write` gave false, when the buffer has run empty. One listener. */
  onDrain(listener: () => void): void;
  end(): void;
  /** Cuts the connection, so that the client sees a broken stream; `onAbort` is not called. */
  destroy(): void;
}

/**
 * The body is larger than `maxBodyBytes` (answer 413), was not in within `bodyTimeoutMs` (answer 408), or there was no room
 * for it among all that are coming in (answer 503).
 */
export type BodyProblem = 'too_large' | 'too_slow' | 'no_room';

/** Runs once the whole body is in (at once when there is none); not called when the client has gone. */
export type BodyHandler = (request: HttpRequest, body: Buffer | BodyProblem, reply: HttpReply) => void;

/**
 * Runs when the headers are in, before the body. Gives undefined when it has answered already: what comes of the
 * body is then thrown away, and the answer leaves when it is in, or after LINGER_MS together with the connection.
 */
export type RequestHandler = (request: HttpRequest, reply: HttpReply) => BodyHandler | undefined;

export interface ListenerOptions {
  readonly host: string;
  /** 0 = any free port; see `address`. */
  readonly port: number;
  readonly maxBodyBytes: number;
  readonly bodyTimeoutMs?: number;
  readonly handler: RequestHandler;
  /** Memory for bodies that are still coming in; several listeners may share it. By default one of its own. */
  readonly bodies?: BodyBudget;
  /** What may wait for clients that read slowly; several listeners may share it. By default one of its own. */
  readonly readers?: Readers;
  /** Told what a handler or a listener threw; by default it becomes a process warning. */
  readonly onFault?: (error: unknown) => void;
}

export interface Listener {
  readonly kind: 'uWebSockets.js' | 'node:http';
  readonly address: { readonly host: string; readonly port: number };
  /** Why node:http serves although uWebSockets.js was wanted. */
  readonly fallbackReason: string | undefined;
  /** Requests whose answers have not wholly left yet. */
  readonly open: number;
  /** Takes no new connections; requests on those that are open are still served. */
  stopListening(): void;
  /** Ends everything now; every request that is open is aborted. */
  close(): void;
}

export const BODY_TIMEOUT_MS = 30_000;

/** How long the answer to a request whose body is not wanted waits for that body: an early close would lose it. */
export const LINGER_MS = 2_000;

/** Time for the headers, between requests, and for a reader that takes nothing: what uWebSockets.js has built in. */
export const IDLE_TIMEOUT_MS = 10_000;

export const MAX_HEADER_BYTES = 16_384;
