// Streamed response on uWebSockets.js. The server buffers without limit, and reports neither the size of its
// buffer nor when it is empty. So it gets pieces of up to PIECE_BYTES, each after the previous one was sent.
//
// With an onWritable handler, the server sends the rest of its buffer only on the next write. A call of
// `cork` counts as a write, even if its callback writes nothing. So PacedStream calls `cork` after each
// onWritable.

import type { HttpResponse } from 'uWebSockets.js';
import { PacedStream } from './paced-stream.ts';
import type { Readers } from './readers.ts';
import type { Reply } from './reply.ts';

export const PIECE_BYTES = 65_536;

/** Response that the stream belongs to. */
interface StreamingReply extends Reply {
  /** Stops reading the connection, if this is its last response. */
  stopReading(): void;
}

export class UwsStream extends PacedStream {
  readonly #res: HttpResponse;
  readonly #reply: StreamingReply;

  constructor(res: HttpResponse, reply: StreamingReply, readers: Readers) {
    super(reply, readers, PIECE_BYTES);
    this.#reply = reply;
    this.#res = res;
    res.onWritable(() => {
      this.onPieceSent();
      return true;
    });
  }

  protected writePiece(piece: Uint8Array): boolean {
    return this.#res.write(piece);
  }

  protected cork(code: () => void): void {
    this.#res.cork(code);
  }

  protected finish(): void {
    // No request may arrive after the connection's last response.
    this.#reply.stopReading();
    // No close flag: after a chunk, uWebSockets.js 20 would write a header into the body.
    this.#res.cork(() => this.#res.end());
    this.reply.settle();
  }
}
