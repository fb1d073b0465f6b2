// One answer on uWebSockets.js. The response object must not be touched after an abort or after its end, and every
// write belongs into a cork; both rules are kept here and in uws-stream.ts, and nobody else sees the object (HS1).

import type { HttpResponse } from 'uWebSockets.js';
import { isBodilessStatus, isInPieces, isOwnHeader, statusLine } from './framing.ts';
import type { Readers } from './readers.ts';
import { Reply, type ReplyOwner } from './reply.ts';
import type { Body, HeaderList } from './seam.ts';
import { PIECE_BYTES, UwsStream } from './uws-stream.ts';

export class UwsReply extends Reply {
  readonly #res: HttpResponse;
  /** Its connection takes no request after it, and is not read any more once it has ended. */
  isLastOfConnection = false;
  #isWatched = false;

  constructor(res: HttpResponse, isHead: boolean, owner: ReplyOwner) {
    super(isHead, owner);
    this.#res = res;
  }

  get remoteAddress(): string {
    return this.isSettled ? '' : Buffer.from(this.#res.getRemoteAddressAsText()).toString('latin1');
  }

  /** Must be called before the request handler returns unless the answer has left: the server insists. */
  watch(): void {
    if (this.#isWatched || this.isSettled) return;
    this.#isWatched = true;
    this.#res.onAborted(() => this.abort());
  }

  protected answer(status: number, headers: HeaderList, body: Body, wantsClose: boolean): void {
    if (this.isSettled) return;
    const close = wantsClose || this.isLastOfConnection;
    this.stopReading();
    const isBodiless = isBodilessStatus(status);
    // A large answer is handed over as the client takes it; the server would copy all of it into its buffer.
    // Only `end` can close the connection, so one that the routes want closed is handed over at once all the same; the last of
    // its connection leaves it to the client, whom the header tells to.
    if (isLarge(body) && !wantsClose && !this.isHead && !isBodiless) {
      this.#answerInParts(status, headers, piecesOf(body));
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
      // endWithoutBody must have no arguments: with a length it leaves the request open, and without one (undefined
      // is read as 2^63) it takes no other. So this connection is closed by the client, whom the header tells to.
      if (close) res.writeHeader('Connection', 'close');
      if (!isBodiless) res.writeHeader('Content-Length', String(Buffer.byteLength(whole)));
      res.endWithoutBody();
    });
    this.settle();
  }

  /** Before the end of the last answer of a connection: what closes it does so not always, nor at once. */
  stopReading(): void {
    if (this.isLastOfConnection) this.#res.pause();
  }

  protected begin(status: number, headers: HeaderList, wantsClose: boolean, readers: Readers): UwsStream {
    this.watch();
    this.#res.cork(() => {
      this.#writeHead(status, headers);
      if (wantsClose || this.isLastOfConnection) this.#res.writeHeader('Connection', 'close');
    });
    return new UwsStream(this.#res, this, readers);
  }

  protected cut(): void {
    this.watch();
    this.#res.close();
  }

  #answerInParts(status: number, headers: HeaderList, pieces: readonly Uint8Array[]): void {
    const res = this.#res;
    this.watch();
    const total = pieces.reduce((sum, piece) => sum + piece.length, 0);
    let at = 0;
    /** Where the piece at hand begins in the answer. */
    let start = 0;
    /** The server has taken the first `offset` bytes; true while it takes all it is given. */
    const give = (offset: number): boolean => {
      for (let piece = pieces[at]; piece !== undefined; piece = pieces[at]) {
        const taken = Math.max(0, offset - start);
        if (taken < piece.length) {
          const [isWritten, isOver] = res.tryEnd(taken === 0 ? piece : piece.subarray(taken), total);
          if (isOver) this.settle();
          if (!isWritten || isOver) return isWritten;
        }
        start += piece.length;
        at += 1;
      }
      return true;
    };
    let isTaken = true;
    res.cork(() => {
      this.#writeHead(status, headers);
      if (this.isLastOfConnection) res.writeHeader('Connection', 'close');
      isTaken = give(0);
    });
    // Most clients take it all at once.
    if (isTaken || this.isSettled) return;
    res.onWritable((offset) => {
      this.onTaken();
      return give(offset);
    });
    this.keep(pieces);
  }

  #writeHead(status: number, headers: HeaderList): void {
    this.#res.writeStatus(statusLine(status));
    for (const [name, value] of headers) if (!isOwnHeader(name)) this.#res.writeHeader(name, value);
  }
}

function isLarge(body: Body): boolean {
  return isInPieces(body) || body.length > PIECE_BYTES;
}

function piecesOf(body: Body): readonly Uint8Array[] {
  if (isInPieces(body)) return body;
  return [typeof body === 'string' ? Buffer.from(body) : body];
}
