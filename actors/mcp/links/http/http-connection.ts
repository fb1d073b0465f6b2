// An HTTP/1.1 connection to a remote server, for one request at a time. Connects with the first request, and
// is reused after each complete response. Each request gets `onEnd` or `onBroken` as its last call, and no
// calls after `destroy`. `onFree` is called only when the response has been read and the whole request has
// been written. Data that the server sends without a request closes the connection. Behind a forward proxy,
// requests to a server with TLS use a tunnel; others contain the whole address.

import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import {
  connectToProxy,
  headRewriter,
  openTunnel,
  proxyFailure,
  type Tunnel,
  timeoutError,
} from '../../../../libs/rest/forward-proxy.ts';
import type { HttpDestination } from './http-destination.ts';
import { PacedReader, type ReadingTurn } from './paced-reader.ts';
import { HttpFault, type ResponseHead } from './response-head.ts';
import { ResponseParser, type ResponseReader } from './response-parser.ts';

/** Silence after which the operating system checks if the peer still exists. */
const TCP_KEEP_ALIVE_MS = 15_000;
/**
 * Idle time after which the connection is closed. Many servers close after 5 s, and a request written at that
 * moment would be lost.
 */
const IDLE_MS = 4_000;
/** Maximum body size for a single write with the head, which is cheaper than two writes. */
const SMALL_BODY_BYTES = 16_384;

/** Receives one request's events. */
export interface ConnectionUser {
  onConnected(): void;
  onHead(head: ResponseHead): void;
  /** Returns the number of accepted bytes; fewer if `turn`, the reader's time slice, expires. */
  onBody(piece: Buffer, turn: ReadingTurn | undefined): number;
  onEnd(): void;
  onBroken(error: Error): void;
  /** The pool has closed the connection. */
  destroy(): void;
}

/** The pool (connection-pool.ts) that lends the connection to requests. */
export interface ConnectionOwner {
  /** The connection can take the next request. */
  onFree(connection: HttpConnection): void;
  onClose(connection: HttpConnection): void;
  /** TLS session for the next handshake with the same server. */
  tlsSession: Buffer | undefined;
}

export class HttpConnection implements ResponseReader {
  readonly #owner: ConnectionOwner;
  readonly #destination: HttpDestination;
  /** Undefined until the tunnel through a proxy is open. */
  #socket: Socket | undefined;
  #reader: PacedReader | undefined;
  readonly #parser = new ResponseParser(this);
  #tunnel: Tunnel | undefined;
  /** Adds the whole address to the request head. Set for requests without TLS through a proxy. */
  #rewriteHead: ((head: string) => string) | undefined;
  #user: ConnectionUser | undefined;
  #isConnected = false;
  #isDestroyed = false;
  /** Request to write when the connection is established. */
  #pendingRequest: { readonly head: string; readonly body: Buffer | undefined } | undefined;
  #connectTimer: NodeJS.Timeout | undefined;
  #lastError: Error | undefined;
  #isRemoteClosed = false;
  /** True if the response is complete. */
  #hasEnded = false;
  /** True if the connection cannot be reused after this response. */
  #isLast = false;
  #bodyBytes = 0;
  /**
   * Time after which the server may close the idle connection, in performance.now() milliseconds; Infinity if
   * not declared.
   */
  goodUntil = Number.POSITIVE_INFINITY;
  #keepAliveMs = Number.POSITIVE_INFINITY;

  constructor(destination: HttpDestination, owner: ConnectionOwner) {
    this.#owner = owner;
    this.#destination = destination;
    const { isTls, host, port, connectTimeoutMs, proxy } = destination;
    this.#connectTimer = setTimeout(() => {
      const error =
        proxy === undefined
          ? new Error(`no connection within ${connectTimeoutMs} ms`)
          : proxyFailure(proxy, timeoutError(), isTls ? 'HTTPS_PROXY' : 'HTTP_PROXY');
      this.#fail(error);
    }, connectTimeoutMs);
    if (proxy === undefined)
      this.#attach(isTls ? this.#startTls({ host, port }) : connectTcp({ host, port }));
    else if (!isTls) {
      this.#rewriteHead = headRewriter(destination, proxy);
      this.#attach(connectToProxy(proxy));
    } else {
      const onOpen = (socket: Socket) => this.#attach(this.#startTls({ socket }));
      this.#tunnel = openTunnel(proxy, destination, onOpen, (error) => this.#fail(error));
    }
  }

  #startTls(peer: ConnectionOptions): Socket {
    const { serverName, tls } = this.#destination;
    const { tlsSession } = this.#owner;
    return connectTls({
      ...peer,
      ALPNProtocols: ['http/1.1'],
      // TLS permits no IP address as server name (RFC 6066, section 3).
      ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
      ...(tlsSession === undefined ? {} : { session: tlsSession }),
      ...tls,
    });
  }

  #attach(socket: Socket): void {
    const { isTls, tls, proxy } = this.#destination;
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS);
    // Closes an idle connection. Data only refreshes the timer, so this costs a request almost nothing.
    socket.setTimeout(IDLE_MS);
    // A listener, because the callback of `setTimeout` would be called only once.
    socket.on('timeout', () => {
      if (this.#isConnected) this.retire();
    });
    // A TLS session shortens later handshakes. With client keys, every connection does a full handshake.
    if (isTls && tls === undefined)
      socket.on('session', (session: Buffer) => {
        this.#owner.tlsSession = session;
      });
    const isSecure = isTls || proxy?.protocol === 'https:';
    socket.once(isSecure ? 'secureConnect' : 'connect', () => this.#onConnected());
    const reader = new PacedReader(socket, (bytes, turn) => this.#onData(bytes, turn));
    this.#reader = reader;
    socket.on('data', (bytes) => reader.push(bytes));
    socket.on('end', () => {
      this.#isRemoteClosed = true;
      reader.end(() => this.#onRemoteClosed());
    });
    socket.on('error', (error) => {
      this.#lastError ??=
        proxy === undefined || isTls || this.#isConnected ? error : proxyFailure(proxy, error, 'HTTP_PROXY');
      // The connection is retired now, because another event may start the next request before `close`.
      this.retire();
    });
    socket.on('close', () => {
      // Received data may still be buffered.
      reader.flush();
      if (this.#isRemoteClosed) this.#onRemoteClosed();
      this.#fail(this.#lastError ?? new Error('the connection was closed'));
    });
  }

  /** Number of request bytes that the operating system has not accepted yet. */
  get unsentBytes(): number {
    return this.#pendingRequest === undefined
      ? Math.min(this.#bodyBytes, this.#socket?.writableLength ?? 0)
      : this.#bodyBytes;
  }

  /** Sends a request. The previous one must be complete. `head` includes the empty line. */
  send(head: string, body: Buffer | undefined, user: ConnectionUser): void {
    this.#user = user;
    this.#bodyBytes = body?.length ?? 0;
    this.goodUntil = Number.POSITIVE_INFINITY;
    this.#parser.expect();
    if (!this.#isConnected) {
      this.#pendingRequest = { head, body };
      return;
    }
    user.onConnected();
    this.#write(head, body);
  }

  /** Pauses reading until `resume`, because the consumer is too slow. */
  pause(): void {
    this.#reader?.pause();
  }

  resume(): void {
    if (!this.#isDestroyed) this.#reader?.resume();
  }

  /** Closes the connection. Its user receives no further events. */
  destroy(): void {
    if (this.#isDestroyed) return;
    this.#isDestroyed = true;
    this.#reader?.drop();
    clearTimeout(this.#connectTimer);
    this.#user = undefined;
    this.#pendingRequest = undefined;
    this.#bodyBytes = 0;
    this.#tunnel?.destroy();
    this.#socket?.destroy();
    this.#owner.onClose(this);
  }

  /** Closes the connection if no request uses it. */
  retire(): void {
    if (this.#user === undefined) this.destroy();
  }

  /** Closes the connection and destroys its request. */
  close(): void {
    const user = this.#user;
    this.destroy();
    user?.destroy();
  }

  onHead(head: ResponseHead): void {
    // Some servers declare how many seconds they keep an idle connection. One second less accounts for the
    // network delay.
    const keepAlive = head.header('keep-alive');
    const seconds = keepAlive === undefined ? undefined : /\btimeout=(\d{1,6})\b/i.exec(keepAlive)?.[1];
    this.#keepAliveMs = seconds === undefined ? Number.POSITIVE_INFINITY : (Number(seconds) - 1) * 1000;
    this.#user?.onHead(head);
  }

  /** Without a user, all bytes are dropped. */
  onBody(piece: Buffer, turn: ReadingTurn | undefined): number {
    return this.#user?.onBody(piece, turn) ?? piece.length;
  }

  onEnd(isLast: boolean): void {
    this.#hasEnded = true;
    this.#isLast = isLast;
  }

  #onConnected(): void {
    if (this.#isDestroyed) return;
    clearTimeout(this.#connectTimer);
    this.#isConnected = true;
    const request = this.#pendingRequest;
    this.#pendingRequest = undefined;
    if (request === undefined) return;
    this.#user?.onConnected();
    this.#write(request.head, request.body);
  }

  /**
   * Writes a request; the socket is connected. As latin1 each byte is one character, so the bytes of the body
   * stay unchanged when head and body are joined as text.
   */
  #write(text: string, body: Buffer | undefined): void {
    const socket = this.#socket as Socket;
    const head = this.#rewriteHead?.(text) ?? text;
    if (body === undefined) {
      socket.write(head, 'latin1');
    } else if (body.length <= SMALL_BODY_BYTES) {
      socket.write(head + body.toString('latin1'), 'latin1');
    } else {
      // Head and body leave in one write.
      socket.cork();
      socket.write(head, 'latin1');
      socket.write(body);
      socket.uncork();
    }
  }

  #onData(bytes: Buffer, turn: ReadingTurn | undefined): number {
    if (this.#isDestroyed) return bytes.length;
    let acceptedBytes = bytes.length;
    try {
      acceptedBytes = this.#parser.feed(bytes, turn);
    } catch (error) {
      if (!(error instanceof HttpFault)) throw error;
      // Invalid data after a complete response does not invalidate it, but prevents reuse of the connection.
      this.#isLast = true;
      if (!this.#hasEnded) this.#fail(error);
    }
    this.#completeResponse();
    return acceptedBytes;
  }

  #onRemoteClosed(): void {
    if (this.#isDestroyed) return;
    try {
      this.#parser.finish();
    } catch (error) {
      if (!(error instanceof HttpFault)) throw error;
      this.#fail(this.#lastError ?? error);
    }
    this.#completeResponse();
  }

  /**
   * Completes the response when all received bytes were parsed: data after it must not reach the next
   * request.
   */
  #completeResponse(): void {
    if (!this.#hasEnded || this.#isDestroyed) return;
    this.#hasEnded = false;
    const user = this.#user;
    this.#user = undefined;
    // If the request is not completely written, the server would take its rest as the next request.
    if (this.#isLast || (this.#socket?.writableLength ?? 0) > 0) this.destroy();
    else {
      if (this.#keepAliveMs !== Number.POSITIVE_INFINITY)
        this.goodUntil = performance.now() + this.#keepAliveMs;
      this.#owner.onFree(this);
    }
    user?.onEnd();
  }

  #fail(error: Error): void {
    if (this.#isDestroyed) return;
    // The cached TLS session may be the reason for the failed handshake.
    if (!this.#isConnected) this.#owner.tlsSession = undefined;
    const user = this.#user;
    this.destroy();
    user?.onBroken(error);
  }
}
