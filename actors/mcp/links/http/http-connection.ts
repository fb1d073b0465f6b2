// One connection to a remote server, with at most one request on it at a time. It is connected when the first request
// comes, and used again for the next when an answer has ended as it should.
//
// HX1  of a request exactly one of `onEnd` and `onBroken` is told, the last of it; after `destroy` nothing.
// HX2  `onFree` only when nothing of the exchange is left in either direction: the answer has ended, so have the bytes that
//      came with its end, and the whole request was taken. What a server sends unasked ends the connection.

import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { PacedReader, type ReadingTurn } from './paced-reader.ts';
import { HttpFault, type ResponseHead } from './response-head.ts';
import { ResponseParser, type ResponseReader } from './response-parser.ts';

/** A peer that vanished without a word is found out by the operating system after this silence. */
const TCP_KEEP_ALIVE_MS = 15_000;
/**
 * One that nobody uses is closed, sooner than the 5 s after which many servers do that: a request written then would be
 * lost.
 */
const IDLE_MS = 4_000;
/** Up to this a head and its body are put together, which is cheaper than to hand over two. */
const SMALL_BODY_BYTES = 16_384;

export interface Destination {
  readonly isTls: boolean;
  /** A name or an address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** What the certificate must be for. */
  readonly serverName: string;
  readonly connectTimeoutMs: number;
  /** Keys or certificates of ours, where the other side is to know us by them. */
  readonly tls?: ConnectionOptions | undefined;
}

/** Whom a request's fate is told. */
export interface ConnectionUser {
  onConnected(): void;
  onHead(head: ResponseHead): void;
  /** Gives how many bytes it has taken: all of them, unless `turn` is over before. */
  onBody(piece: Buffer, turn: ReadingTurn | undefined): number;
  onEnd(): void;
  onBroken(error: Error): void;
  /** The connection was taken from under it. */
  destroy(): void;
}

export interface ConnectionOwner {
  /** It can take the next request. */
  onFree(connection: HttpConnection): void;
  onClose(connection: HttpConnection): void;
  /** For the next handshake with the same server. */
  tlsSession: Buffer | undefined;
}

export class HttpConnection implements ResponseReader {
  readonly #owner: ConnectionOwner;
  readonly #socket: Socket;
  readonly #parser = new ResponseParser(this);
  readonly #reader: PacedReader;
  #user: ConnectionUser | undefined;
  #isConnected = false;
  #isDestroyed = false;
  /** What is written once it is connected. */
  #first: { readonly head: string; readonly body: Buffer | undefined } | undefined;
  #connectTimer: NodeJS.Timeout | undefined;
  #lastError: Error | undefined;
  #hasOtherSideClosed = false;
  /** An answer has ended within the bytes that are just being read. */
  #hasEnded = false;
  #isLast = false;
  #bodyBytes = 0;
  /** When the server may close it, in performance.now() milliseconds; Infinity where it does not say. */
  goodUntil = Number.POSITIVE_INFINITY;
  #keptForMs = Number.POSITIVE_INFINITY;

  constructor(destination: Destination, owner: ConnectionOwner) {
    this.#owner = owner;
    const { isTls, host, port, serverName, connectTimeoutMs, tls } = destination;
    const socket = isTls
      ? connectTls({
          host,
          port,
          ALPNProtocols: ['http/1.1'],
          ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
          ...(owner.tlsSession === undefined ? {} : { session: owner.tlsSession }),
          ...tls,
        })
      : connectTcp({ host, port });
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS);
    // Node looks at it only when nothing has come or gone for so long: that costs a call nothing.
    socket.setTimeout(IDLE_MS);
    // Not as the callback, which would be called for the first silence only.
    socket.on('timeout', () => {
      if (this.#isConnected) this.retire();
    });
    this.#connectTimer = setTimeout(() => {
      this.#break(new Error(`no connection within ${connectTimeoutMs} ms`));
    }, connectTimeoutMs);
    // Who is known by keys shows them each time.
    if (isTls && tls === undefined)
      socket.on('session', (session: Buffer) => {
        owner.tlsSession = session;
      });
    socket.once(isTls ? 'secureConnect' : 'connect', () => this.#onConnected());
    this.#reader = new PacedReader(socket, (bytes, turn) => this.#onData(bytes, turn));
    socket.on('data', (bytes) => this.#reader.push(bytes));
    socket.on('end', () => {
      this.#hasOtherSideClosed = true;
      this.#reader.end(() => this.#onOtherSideClosed());
    });
    socket.on('error', (error) => {
      this.#lastError ??= error;
      // 'close' comes later than other events of the same turn, of which one may bring the next request.
      this.retire();
    });
    socket.on('close', () => {
      // It may break off while the rest of it waits for its turn.
      this.#reader.flush();
      if (this.#hasOtherSideClosed) this.#onOtherSideClosed();
      this.#break(this.#lastError ?? new Error('the connection was closed'));
    });
  }

  /** Bytes of the request that the operating system has not taken yet. */
  get unsentBytes(): number {
    return this.#first === undefined
      ? Math.min(this.#bodyBytes, this.#socket.writableLength)
      : this.#bodyBytes;
  }

  /** Sends a request; none may be under way. `head` is whole, up to the empty line. */
  send(head: string, body: Buffer | undefined, user: ConnectionUser): void {
    this.#user = user;
    this.#bodyBytes = body?.length ?? 0;
    this.goodUntil = Number.POSITIVE_INFINITY;
    this.#parser.expect();
    if (!this.#isConnected) {
      this.#first = { head, body };
      return;
    }
    user.onConnected();
    this.#write(head, body);
  }

  /** Reads nothing until `resume`: whoever takes what is read cannot keep up. */
  pause(): void {
    this.#reader.pause();
  }

  resume(): void {
    if (!this.#isDestroyed) this.#reader.resume();
  }

  /** Ends it; who uses it hears nothing more. */
  destroy(): void {
    if (this.#isDestroyed) return;
    this.#isDestroyed = true;
    this.#reader.drop();
    clearTimeout(this.#connectTimer);
    this.#user = undefined;
    this.#first = undefined;
    this.#bodyBytes = 0;
    this.#socket.destroy();
    this.#owner.onClose(this);
  }

  /** Ends it unless somebody uses it. */
  retire(): void {
    if (this.#user === undefined) this.destroy();
  }

  /** Ends it, and who uses it. */
  close(): void {
    const user = this.#user;
    this.destroy();
    user?.destroy();
  }

  onHead(head: ResponseHead): void {
    // Some servers say for how many seconds they keep an idle connection; a second is for the way.
    const kept = head.header('keep-alive');
    const seconds = kept === undefined ? undefined : /\btimeout=(\d{1,6})\b/i.exec(kept)?.[1];
    this.#keptForMs = seconds === undefined ? Number.POSITIVE_INFINITY : (Number(seconds) - 1) * 1000;
    this.#user?.onHead(head);
  }

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
    const first = this.#first;
    this.#first = undefined;
    if (first === undefined) return;
    this.#user?.onConnected();
    this.#write(first.head, first.body);
  }

  #write(head: string, body: Buffer | undefined): void {
    if (body === undefined) {
      this.#socket.write(head, 'latin1');
    } else if (body.length <= SMALL_BODY_BYTES) {
      this.#socket.write(head + body.toString('latin1'), 'latin1');
    } else {
      this.#socket.cork();
      this.#socket.write(head, 'latin1');
      this.#socket.write(body);
      this.#socket.uncork();
    }
  }

  #onData(bytes: Buffer, turn: ReadingTurn | undefined): number {
    if (this.#isDestroyed) return bytes.length;
    let taken = bytes.length;
    try {
      taken = this.#parser.feed(bytes, turn);
    } catch (error) {
      if (!(error instanceof HttpFault)) throw error;
      // An answer that had ended before was right.
      this.#isLast = true;
      if (!this.#hasEnded) this.#break(error);
    }
    this.#settle();
    return taken;
  }

  #onOtherSideClosed(): void {
    if (this.#isDestroyed) return;
    try {
      this.#parser.finish();
    } catch (error) {
      if (!(error instanceof HttpFault)) throw error;
      this.#break(this.#lastError ?? error);
    }
    this.#settle();
  }

  /** After all bytes that came at once were read: what came behind an answer must not meet the next request. */
  #settle(): void {
    if (!this.#hasEnded || this.#isDestroyed) return;
    this.#hasEnded = false;
    const user = this.#user;
    this.#user = undefined;
    // An answer to half a request: the rest of it must not be taken for the next one.
    if (this.#isLast || this.#socket.writableLength > 0) this.destroy();
    else {
      if (this.#keptForMs !== Number.POSITIVE_INFINITY) this.goodUntil = performance.now() + this.#keptForMs;
      this.#owner.onFree(this);
    }
    user?.onEnd();
  }

  #break(error: Error): void {
    if (this.#isDestroyed) return;
    // It may have been for the session that the server refused the handshake.
    if (!this.#isConnected) this.#owner.tlsSession = undefined;
    const user = this.#user;
    this.destroy();
    user?.onBroken(error);
  }
}
