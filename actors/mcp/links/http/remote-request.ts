// One HTTP exchange with a remote server. Calls `onEnd`, `onRefused` or `onFailed` exactly once, and nothing
// after `destroy`. The session (remote-session.ts) decides if a redirect is followed. The caller sets the
// deadline for the response. Connecting, and reading the body of a refusal (a non-2xx response), have
// separate deadlines.

import type { GatewayError } from '../../../base/errors/errors.ts';
import type { ConnectionPool } from './connection-pool.ts';
import type { ConnectionUser, HttpConnection } from './http-connection.ts';
import type { ReadingTurn } from './paced-reader.ts';
import { type ErrorResponse, networkError, protocolError, type TextRedactor } from './remote-errors.ts';
import type { ResponseHead } from './response-head.ts';

const REFUSAL_BODY_MS = 2_000;
const REFUSAL_BODY_BYTES = 65_536;

export interface RequestParts {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Address, if different from the configured address. */
  readonly url?: URL | undefined;
  /** Headers in addition to the configured and session headers; lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** A W3C trace context header. */
  readonly traceparent?: string | undefined;
  readonly body?: Buffer | undefined;
}

/** A request to resend to another address. */
export interface RedirectedRequest {
  readonly url: URL;
  readonly head: string;
}

/** Destination of a session's requests. */
export interface RemoteTarget {
  readonly pool: ConnectionPool;
  readonly redactor: TextRedactor;
  /** Receives the head of each response, also of redirects. */
  onHead(head: ResponseHead, from: URL): void;
  /** Returns the next request after `count` redirects; undefined if this redirect is not followed. */
  redirect(parts: RequestParts, head: ResponseHead, from: URL, count: number): RedirectedRequest | undefined;
}

export interface RemoteEvents {
  /** The server accepted the request (2xx); the body follows. */
  onAccepted(head: ResponseHead): void;
  /**
   * Returns the number of accepted bytes; fewer if `turn`, the reader's time slice, expires. The rest is
   * delivered later.
   */
  onData(chunk: Buffer, turn: ReadingTurn | undefined): number;
  onEnd(): void;
  onRefused(refusal: ErrorResponse): void;
  /** There is no complete response. `wasSent: false`: no byte of the request was sent. */
  onFailed(error: GatewayError, wasSent: boolean): void;
}

export class RemoteRequest implements ConnectionUser {
  readonly #target: RemoteTarget;
  #url: URL;
  readonly #parts: RequestParts;
  readonly #handler: RemoteEvents;
  #connection: HttpConnection | undefined;
  /** Connection of the complete response. It may carry another request by now. */
  #usedConnection: HttpConnection | undefined;
  #wasSent = false;
  #isOver = false;
  /** Set while a non-2xx response is being read. */
  #refusal: PartialRefusal | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** performance.now() at which the exchange must be complete. */
  #deadlineAt: number | undefined;
  #redirects = 0;

  /** `parts` are resent after redirects. */
  constructor(target: RemoteTarget, url: URL, parts: RequestParts, handler: RemoteEvents) {
    this.#target = target;
    this.#url = url;
    this.#parts = parts;
    this.#handler = handler;
  }

  send(head: string, body: Buffer | undefined): void {
    this.#connection = this.#target.pool.acquire();
    this.#connection.send(head, body, this);
  }

  /** Aborts the exchange and closes the connection, unless it was released. */
  destroy(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#connection?.destroy();
    this.#connection = undefined;
  }

  /**
   * Reports in a later microtask that the request cannot be sent, because callers expect no failure during
   * the call (L4, link.ts).
   */
  failLater(error: Error): void {
    queueMicrotask(() => this.onBroken(error));
  }

  /** Fails the exchange if it is not complete in `ms` milliseconds. A second call replaces the first. */
  setDeadline(ms: number): void {
    if (this.#isOver) return;
    this.#deadlineAt = performance.now() + ms;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.onBroken(new Error(`not complete within ${ms} ms`)), ms);
  }

  /** Called before the first byte is written. */
  onConnected(): void {
    this.#wasSent = true;
  }

  onHead(head: ResponseHead): void {
    this.#target.onHead(head, this.#url);
    if (head.status < 200 || head.status > 299) {
      clearTimeout(this.#timer);
      this.#refusal = { head, chunks: [], size: 0 };
      this.#timer = setTimeout(() => this.#refuse(false), REFUSAL_BODY_MS);
      return;
    }
    const coding = head.header('content-encoding') ?? 'identity';
    if (coding === 'identity') {
      this.#handler.onAccepted(head);
      return;
    }
    const message = `responded with the content coding ${coding}, which was not requested`;
    this.destroy();
    this.#handler.onFailed(protocolError(this.#url, message, this.#target.redactor), true);
  }

  onBody(piece: Buffer, turn: ReadingTurn | undefined): number {
    const refusal = this.#refusal;
    if (this.#isOver) return piece.length;
    if (refusal === undefined) return this.#handler.onData(piece, turn);
    refusal.size += piece.length;
    refusal.chunks.push(piece);
    if (refusal.size > REFUSAL_BODY_BYTES) this.#refuse(false);
    return piece.length;
  }

  /**
   * Closes the connection unless another request uses it, because the response did not match this request.
   */
  retireConnection(): void {
    this.#usedConnection?.retire();
  }

  onEnd(): void {
    this.#usedConnection = this.#connection;
    this.#connection = undefined;
    if (this.#isOver) return;
    if (this.#refusal !== undefined) {
      this.#refuse(true);
      return;
    }
    this.destroy();
    this.#handler.onEnd();
  }

  onBroken(error: Error): void {
    if (this.#isOver) return;
    // A refusal with an incomplete body is still a refusal.
    if (this.#refusal !== undefined) {
      this.#refuse(false);
      return;
    }
    this.destroy();
    const { redactor } = this.#target;
    this.#handler.onFailed(networkError(this.#url, error, this.#wasSent, redactor), this.#wasSent);
  }

  /** Sends the request to the redirect's target. Returns false if the redirect is not followed. */
  #isRedirected(head: ResponseHead): boolean {
    if (head.status < 300 || head.status > 399) return false;
    const next = this.#target.redirect(this.#parts, head, this.#url, this.#redirects);
    if (next === undefined) return false;
    this.#redirects += 1;
    this.#url = next.url;
    this.#refusal = undefined;
    this.#wasSent = false;
    // `destroy` has ended only the exchange with the previous address.
    this.#isOver = false;
    if (this.#deadlineAt !== undefined) this.setDeadline(Math.max(1, this.#deadlineAt - performance.now()));
    this.send(next.head, this.#parts.body);
    return true;
  }

  /** Follows a redirect, or reports the refusal. `isWhole`: the body is complete. */
  #refuse(isWhole: boolean): void {
    const refusal = this.#refusal;
    if (this.#isOver || refusal === undefined) return;
    this.destroy();
    const { status, reason } = refusal.head;
    if (this.#isRedirected(refusal.head)) return;
    const headers = {
      location: refusal.head.header('location'),
      'retry-after': refusal.head.header('retry-after'),
      date: refusal.head.header('date'),
    };
    const body = Buffer.concat(refusal.chunks).subarray(0, REFUSAL_BODY_BYTES);
    this.#handler.onRefused({
      method: this.#parts.method,
      url: this.#url,
      status,
      reason,
      headers,
      body,
      isWhole,
    });
  }
}

interface PartialRefusal {
  readonly head: ResponseHead;
  readonly chunks: Buffer[];
  size: number;
}
