// One answer on node:http, and its stream. What a ServerResponse does not tell is that a request pipelined behind
// another has lost its client; that is learnt from the socket.

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isBodilessStatus, isInPieces, isOwnHeader } from './framing.ts';
import { PacedStream } from './paced-stream.ts';
import type { Readers } from './readers.ts';
import { Reply, type ReplyOwner } from './reply.ts';
import { type Body, type HeaderList, IDLE_TIMEOUT_MS } from './seam.ts';

/** An answer up to that is put together with its head. */
const SMALL_BYTES = 16_384;

export class NodeReply extends Reply {
  readonly #res: ServerResponse;
  readonly #socket: Socket;
  readonly #onGone = (): void => this.abort();

  constructor(res: ServerResponse, socket: Socket, isHead: boolean, owner: ReplyOwner) {
    super(isHead, owner);
    this.#res = res;
    this.#socket = socket;
    socket.once('close', this.#onGone);
    res.once('finish', () => this.settle());
    // Writing to a client that has gone is no fault of ours; the end of the socket tells the same.
    res.on('error', () => {});
  }

  override settle(): void {
    this.#socket.off('close', this.#onGone);
    super.settle();
  }

  /** While the client takes nothing the connection may not stay for ever; taking anything counts as life. */
  watchReader(): void {
    this.#socket.setTimeout(IDLE_TIMEOUT_MS);
  }

  unwatchReader(): void {
    if (!this.isSettled) this.#socket.setTimeout(0);
  }

  protected answer(status: number, headers: HeaderList, body: Body, close: boolean): void {
    if (this.isSettled) return;
    const flat = flatten(headers, close);
    if (isBodilessStatus(status)) {
      this.#res.writeHead(status, flat).end();
      return;
    }
    const pieces = isInPieces(body) ? body : [body];
    const length = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
    flat.push('Content-Length', String(length));
    this.#res.writeHead(status, flat);
    if (length <= SMALL_BYTES) this.#res.end(bytesAsText(pieces), 'latin1');
    else {
      const last = pieces.length - 1;
      for (const piece of pieces.slice(0, last)) this.#res.write(piece);
      this.#res.end(pieces[last]);
    }
    // Ends with the answer: node sets its timeout between requests then.
    if (this.#res.writableLength === 0) return;
    this.watchReader();
    this.keep(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)));
  }

  protected begin(status: number, headers: HeaderList, close: boolean, readers: Readers): PacedStream {
    this.#res.writeHead(status, flatten(headers, close));
    return new NodeStream(this.#res, this, readers);
  }

  protected cut(): void {
    this.#socket.destroy();
  }
}

/** Text of one character a byte: node:http puts that behind the head, and both leave in one write. */
function bytesAsText(pieces: readonly (string | Uint8Array)[]): string {
  return pieces
    .map((piece) => {
      if (typeof piece === 'string') return Buffer.from(piece).toString('latin1');
      return Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString('latin1');
    })
    .join('');
}

function flatten(headers: HeaderList, close: boolean): string[] {
  const flat: string[] = [];
  for (const [name, value] of headers) if (!isOwnHeader(name)) flat.push(name, value);
  if (close) flat.push('Connection', 'close');
  return flat;
}

/** What is handed over at once: by reference, and for the next the event loop has to come round. */
const PIECE_BYTES = 262_144;

class NodeStream extends PacedStream {
  readonly #res: ServerResponse;
  readonly #reply: NodeReply;

  constructor(res: ServerResponse, reply: NodeReply, readers: Readers) {
    super(reply, readers, PIECE_BYTES);
    this.#res = res;
    this.#reply = reply;
    res.on('drain', () => {
      reply.unwatchReader();
      this.onTaken();
    });
  }

  protected hand(piece: Uint8Array): boolean {
    const isTaken = this.#res.write(piece);
    if (!isTaken) this.#reply.watchReader();
    return isTaken;
  }

  protected corked(code: () => void): void {
    code();
  }

  protected finish(): void {
    this.#res.end();
  }
}
