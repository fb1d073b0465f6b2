// A streamed answer on uWebSockets.js. The server buffers without bound and tells neither how much nor when it is
// empty, so it is given pieces of at most PIECE_BYTES, each when it has none of the last.
//
// Once an onWritable handler is set the server drains its own buffer only when it is written to; leaving an empty
// cork counts as a write, which is why every onWritable goes through one.

import type { HttpResponse } from 'uWebSockets.js';
import { PacedStream } from './paced-stream.ts';
import type { Readers } from './readers.ts';
import type { Reply } from './reply.ts';

export const PIECE_BYTES = 65_536;

/** The answer that the stream belongs to. */
interface StreamingReply extends Reply {
  /** Stops reading the connection if this is its last answer. */
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
      this.onTaken();
      return true;
    });
  }

  protected hand(piece: Uint8Array): boolean {
    return this.#res.write(piece);
  }

  protected corked(code: () => void): void {
    this.#res.cork(code);
  }

  protected finish(): void {
    this.#reply.stopReading();
    // Without the flag that closes: after a chunk uWebSockets.js 20 would write a header into the body.
    this.#res.cork(() => this.#res.end());
    this.reply.settle();
  }
}
