// One answer on uWebSockets.js. The response object must not be touched after an abort or after its end, and every
// write belongs into a cork; both rules are kept here and in uws-stream.ts, and nobody else sees the object (H1).

import type { HttpResponse } from 'uWebSockets.js';
import { isBodilessStatus, isOwnHeader, statusLine } from './framing.ts';
import { Reply, type ReplyOwner } from './reply.ts';
import type { HeaderList, HttpStream } from './seam.ts';
import { PIECE_BYTES, UwsStream } from './uws-stream.ts';

export class UwsReply extends Reply {
  readonly #res: HttpResponse;
  #isWatched = false;
  #stream: UwsStream | undefined;

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
    this.#res.onAborted(() => {
      this.#stream?.abort();
      this.abort();
    });
  }

  protected answer(status: number, headers: HeaderList, body: string | Uint8Array, close: boolean): void {
    if (this.isSettled) return;
    const isBodiless = isBodilessStatus(status);
    // A large answer is handed over as the client takes it; the server would copy all of it into its buffer.
    // Only `end` can close the connection, so an answer that closes is handed over at once all the same.
    if (body.length > PIECE_BYTES && !close && !this.isHead && !isBodiless) {
      this.#answerInParts(status, headers, typeof body === 'string' ? Buffer.from(body) : body);
      return;
    }
    const res = this.#res;
    res.cork(() => {
      this.#writeHead(status, headers);
      if (!isBodiless && !this.isHead) {
        res.end(body, close);
        return;
      }
      // endWithoutBody must have no arguments: with a length it leaves the request open, and without one (undefined
      // is read as 2^63) it takes no other. So this connection is closed by the client, whom the header tells to.
      if (close) res.writeHeader('Connection', 'close');
      if (!isBodiless) res.writeHeader('Content-Length', String(Buffer.byteLength(body)));
      res.endWithoutBody();
    });
    this.settle();
  }

  protected begin(status: number, headers: HeaderList, close: boolean): HttpStream {
    this.watch();
    this.#res.cork(() => {
      this.#writeHead(status, headers);
      if (close) this.#res.writeHeader('Connection', 'close');
    });
    this.#stream = new UwsStream(this.#res, this);
    return this.#stream;
  }

  protected cut(): void {
    this.watch();
    this.#res.close();
  }

  #answerInParts(status: number, headers: HeaderList, body: Uint8Array): void {
    const res = this.#res;
    this.watch();
    const give = (offset: number): boolean => {
      const [isWritten, isOver] = res.tryEnd(offset === 0 ? body : body.subarray(offset), body.length);
      if (isOver) this.settle();
      return isWritten;
    };
    res.onWritable(give);
    res.cork(() => {
      this.#writeHead(status, headers);
      give(0);
    });
  }

  #writeHead(status: number, headers: HeaderList): void {
    this.#res.writeStatus(statusLine(status));
    for (const [name, value] of headers) if (!isOwnHeader(name)) this.#res.writeHeader(name, value);
  }
}
