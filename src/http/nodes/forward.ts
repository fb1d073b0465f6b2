// One request that was passed on to the node it belongs to, and its answer on the way back.
//
// FW1 (A2)  it ends once: by the answer, by an error that says what became of it, by a stream that is cut, or by its client's going.
// FW2 (A8)  of an answer no more is kept here than COLLECTED_BYTES, or what its client is behind: its owner waits for the client.
// FW3       a client that goes is seen by the owner as if it had been connected there.

import {
  ConnectionLostError,
  type GatewayError,
  UnavailableError,
} from '../../../actors/base/errors/errors.ts';
import { nodeHeaders } from '../../../actors/cluster/node-ways.ts';
import type { ConnectionUser, HttpConnection } from '../../../actors/mcp/links/http/http-connection.ts';
import type { ResponseHead } from '../../../actors/mcp/links/http/response-head.ts';
import type { HttpStream } from '../listener/seam.ts';
import type { Asked } from './elsewhere.ts';
import { answerHeaders } from './forwarded-head.ts';
import { isRefusedProof } from './refused-proof.ts';

/** An answer up to this size leaves in one piece, as it does at its owner. */
const COLLECTED_BYTES = 65_536;

export interface ForwardOptions {
  readonly asked: Asked;
  /** What the owner is called. */
  readonly node: string;
  /** It is over; called once. */
  onEnd(): void;
  /** The owner does not take our proof, or has none that is taken here. */
  onRefusedProof(why: string): void;
}

export class Forward implements ConnectionUser {
  readonly #options: ForwardOptions;
  #connection: HttpConnection | undefined;
  #wasSent = false;
  #isOver = false;
  #head: ResponseHead | undefined;
  /** While the answer is collected. */
  #pieces: Buffer[] | undefined;
  #stream: HttpStream | undefined;

  constructor(options: ForwardOptions) {
    this.#options = options;
  }

  send(connection: HttpConnection, head: string, body: Buffer | undefined): void {
    this.#connection = connection;
    this.#options.asked.context.reply.onAbort(() => this.#leave());
    connection.send(head, body, this);
  }

  /** The owner is no node of the cluster any more. */
  onOwnerGone(): void {
    if (this.#isOver) return;
    if (!this.#wasSent) this.#gone();
    else
      this.#fail(
        new ConnectionLostError(`${this.#owner} has gone; what was asked may have been carried out`),
      );
  }

  onConnected(): void {
    this.#wasSent = true;
  }

  onHead(head: ResponseHead): void {
    const refused = head.header(nodeHeaders.refused);
    if (refused !== undefined) {
      if (refused !== 'proof') this.#gone();
      else {
        this.#options.onRefusedProof('it takes no proof of ours');
        this.#fail(this.#unreachable('refuses this one'));
      }
      return;
    }
    this.#head = head;
    const bytes = head.bodyBytes;
    if (typeof bytes === 'number' && bytes <= COLLECTED_BYTES) {
      this.#pieces = [];
      return;
    }
    const { context } = this.#options.asked;
    const stream = context.reply.stream(head.status, context.headers(answerHeaders(head)));
    this.#stream = stream;
    stream.onDrain(() => this.#connection?.resume());
  }

  onBody(piece: Buffer): number {
    if (this.#pieces !== undefined) this.#pieces.push(piece);
    else if (this.#stream?.write(piece) === false) this.#connection?.pause();
    return piece.length;
  }

  onEnd(): void {
    if (this.#isOver || this.#head === undefined) return;
    this.#connection = undefined;
    this.#end();
    if (this.#pieces === undefined) this.#stream?.end();
    else {
      const { context } = this.#options.asked;
      const [first = '', ...more] = this.#pieces;
      const body = more.length === 0 ? first : Buffer.concat(this.#pieces);
      context.reply.send(this.#head.status, context.headers(answerHeaders(this.#head)), body);
    }
  }

  onBroken(error: Error): void {
    if (this.#isOver) return;
    if (isRefusedProof(error)) this.#options.onRefusedProof((error as NodeJS.ErrnoException).code ?? '');
    const isNobodyThere = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
    // A process that is there listens: this one is no more.
    if (!this.#wasSent && isNobodyThere) this.#gone();
    else if (!this.#wasSent) this.#fail(this.#unreachable(`cannot be reached now (${error.message})`));
    else
      this.#fail(
        new ConnectionLostError(
          `the connection to ${this.#owner} broke off; what was asked may have been carried out`,
        ),
      );
  }

  /** The connections to the owner were closed. */
  destroy(): void {
    this.onOwnerGone();
  }

  get #owner(): string {
    return `the node ${this.#options.node}, which has it,`;
  }

  #unreachable(what: string): UnavailableError {
    return new UnavailableError(`${this.#owner} ${what}; nothing was done, try again shortly`, 1);
  }

  #gone(): void {
    const { asked } = this.#options;
    if (this.#isOver) return;
    this.#leave();
    asked.gone();
  }

  #fail(error: GatewayError): void {
    const { context, envelope } = this.#options.asked;
    const stream = this.#stream;
    this.#leave();
    if (stream !== undefined) stream.destroy();
    else context.rpcError(error, envelope?.kind === 'request' ? envelope.rawId : undefined);
  }

  /** Nothing more is wanted of the owner. */
  #leave(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#end();
    connection?.destroy();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.onEnd();
  }
}
