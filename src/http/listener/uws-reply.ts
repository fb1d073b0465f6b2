// Response on uWebSockets.js. Its response object must not be used after an abort or after `end`, and each
// write must be corked. Only this file and uws-stream.ts write, and they follow both rules. Rule HS1 (one
// response or abort per request) is in seam.ts.

import type { HttpResponse } from 'uWebSockets.js';
import { isBodilessStatus, isInPieces, isManagedHeader, statusLine } from './framing.ts';
import type { Readers } from './readers.ts';
import { Reply, type ReplyOwner } from './reply.ts';
import type { Body, HeaderList } from './seam.ts';
import { PIECE_BYTES, UwsStream } from './uws-stream.ts';

export class UwsReply extends Reply {
  readonly #res: HttpResponse;
  /** True if the connection is closed after this response, without reading it further. */
  isLastOfConnection = false;
  #isWatched = false;

  constructor(res: HttpResponse, isHead: boolean, owner: ReplyOwner) {
    super(isHead, owner);
    this.#res = res;
  }

  get remoteAddress(): string {
    return this.isSettled ? '' : Buffer.from(this.#res.getRemoteAddressAsText()).toString('latin1');
  }

  /** Listens for a disconnect. Must be called before the request handler returns, unless it has responded. */
  watch(): void {
    if (this.#isWatched || this.isSettled) return;
    this.#isWatched = true;
    this.#res.onAborted(() => this.abort());
  }

  protected writeResponse(status: number, headers: HeaderList, body: Body, wantsClose: boolean): void {
    if (this.isSettled) return;
    const close = wantsClose || this.isLastOfConnection;
    this.stopReading();
    const isBodiless = isBodilessStatus(status);
    // A large response is sent in pieces, at the speed of the client; otherwise the server would copy it into
    // its buffer. If the route requests the close (`wantsClose`), the response is written immediately,
    // because only `end` closes the connection. With `isLastOfConnection`, pieces are possible: the header
    // `Connection: close` makes the client close the connection.
    if (isLarge(body) && !wantsClose && !this.isHead && !isBodiless) {
      this.#sendInPieces(status, headers, piecesOf(body));
      return;
    }
    const res = this.#res;
    const whole = isInPieces(body) ? Buffer.concat(body) : body;
    res.cork(() => {
      this.#writeHead(status, headers);
      if (!isBodiless && !this.isHead) {
        res.end(whole, close);
        return;
      }
      // endWithoutBody must get no arguments: with a length it leaves the request open, and reads undefined
      // as 2^63. The header makes the client close the connection.
      if (close) res.writeHeader('Connection', 'close');
      if (!isBodiless) res.writeHeader('Content-Length', String(Buffer.byteLength(whole)));
      res.endWithoutBody();
    });
    this.settle();
  }

  /** Stops reading before the last response of the connection is complete: closing may be late or fail. */
  stopReading(): void {
    if (this.isLastOfConnection) this.#res.pause();
  }

  protected openStream(
    status: number,
    headers: HeaderList,
    wantsClose: boolean,
    readers: Readers,
  ): UwsStream {
    this.watch();
    this.#res.cork(() => {
      this.#writeHead(status, headers);
      if (wantsClose || this.isLastOfConnection) this.#res.writeHeader('Connection', 'close');
    });
    return new UwsStream(this.#res, this, readers);
  }

  protected closeConnection(): void {
    this.watch();
    this.#res.close();
  }

  #sendInPieces(status: number, headers: HeaderList, pieces: readonly Uint8Array[]): void {
    const res = this.#res;
    this.watch();
    const total = pieces.reduce((sum, piece) => sum + piece.length, 0);
    let at = 0;
    /** Offset of the current piece in the response. */
    let start = 0;
    /** Writes from `offset`; returns true if the server accepted all bytes. */
    const writeFrom = (offset: number): boolean => {
      for (let piece = pieces[at]; piece !== undefined; piece = pieces[at]) {
        const sentBytes = Math.max(0, offset - start);
        if (sentBytes < piece.length) {
          const [isWritten, isFinished] = res.tryEnd(
            sentBytes === 0 ? piece : piece.subarray(sentBytes),
            total,
          );
          if (isFinished) this.settle();
          if (!isWritten || isFinished) return isWritten;
        }
        start += piece.length;
        at += 1;
      }
      return true;
    };
    let isAccepted = true;
    res.cork(() => {
      this.#writeHead(status, headers);
      if (this.isLastOfConnection) res.writeHeader('Connection', 'close');
      isAccepted = writeFrom(0);
    });
    // Usually the system accepts all bytes immediately.
    if (isAccepted || this.isSettled) return;
    res.onWritable((offset) => {
      this.noteProgress();
      return writeFrom(offset);
    });
    this.trackUnsent(pieces);
  }

  #writeHead(status: number, headers: HeaderList): void {
    this.#res.writeStatus(statusLine(status));
    for (const [name, value] of headers) if (!isManagedHeader(name)) this.#res.writeHeader(name, value);
  }
}

function isLarge(body: Body): boolean {
  return isInPieces(body) || body.length > PIECE_BYTES;
}

function piecesOf(body: Body): readonly Uint8Array[] {
  if (isInPieces(body)) return body;
  return [typeof body === 'string' ? Buffer.from(body) : body];
}
