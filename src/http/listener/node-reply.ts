// Response on node:http, and its stream. For a pipelined request, ServerResponse does not report a
// disconnect, so this file also listens to the socket.

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isBodilessStatus, isInPieces, isManagedHeader } from './framing.ts';
import { PacedStream } from './paced-stream.ts';
import type { Readers } from './readers.ts';
import { Reply, type ReplyOwner } from './reply.ts';
import { type Body, type HeaderList, IDLE_TIMEOUT_MS } from './seam.ts';

/** A body up to this size is sent in one write with the head. */
const SMALL_BYTES = 16_384;

export class NodeReply extends Reply {
  readonly #res: ServerResponse;
  readonly #socket: Socket;
  readonly #onDisconnect = (): void => this.abort();

  constructor(res: ServerResponse, socket: Socket, isHead: boolean, owner: ReplyOwner) {
    super(isHead, owner);
    this.#res = res;
    this.#socket = socket;
    socket.once('close', this.#onDisconnect);
    res.once('finish', () => this.settle());
    // A write to a disconnected client fails; the event 'close' of the socket handles the disconnect.
    res.on('error', () => {});
  }

  override settle(): void {
    this.#socket.off('close', this.#onDisconnect);
    super.settle();
  }

  /** Closes the connection if the client reads no bytes for IDLE_TIMEOUT_MS. */
  watchReader(): void {
    this.#socket.setTimeout(IDLE_TIMEOUT_MS);
  }

  unwatchReader(): void {
    if (!this.isSettled) this.#socket.setTimeout(0);
  }

  protected writeResponse(status: number, headers: HeaderList, body: Body, close: boolean): void {
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
    // After the response, Node replaces this timeout by its keep-alive timeout.
    if (this.#res.writableLength === 0) return;
    this.watchReader();
    this.trackUnsent(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)));
  }

  protected openStream(status: number, headers: HeaderList, close: boolean, readers: Readers): PacedStream {
    this.#res.writeHead(status, flatten(headers, close));
    return new NodeStream(this.#res, this, readers);
  }

  protected closeConnection(): void {
    this.#socket.destroy();
  }
}

/** Returns the bytes as Latin-1 text, which node:http sends in one write with the head. */
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
  for (const [name, value] of headers) if (!isManagedHeader(name)) flat.push(name, value);
  if (close) flat.push('Connection', 'close');
  return flat;
}

/** Maximum write size. Large, because bytes are not copied and each write needs an event loop turn. */
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
      this.onPieceSent();
    });
  }

  protected writePiece(piece: Uint8Array): boolean {
    const isAccepted = this.#res.write(piece);
    if (!isAccepted) this.#reply.watchReader();
    return isAccepted;
  }

  protected cork(code: () => void): void {
    code();
  }

  protected finish(): void {
    this.#res.end();
  }
}
