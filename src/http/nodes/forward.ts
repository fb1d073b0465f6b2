// A client's request that is forwarded to another node, the owner of the session or of the call, and the
// response of the owner.
//
// - The client gets exactly one result: the response, an error or a cut stream (A2, ARCHITECTURE.md). Each
//   error states that the request was not executed, or that it may have been executed.
// - Small responses are collected and sent in one piece. For larger ones, the owner is paused if the client
//   reads slowly (A8).
// - If the client disconnects, the owner sees a disconnect, too.

import {
  ConnectionLostError,
  type GatewayError,
  UnavailableError,
} from '../../../actors/base/errors/errors.ts';
import { nodeHeaders } from '../../../actors/cluster/node-connection.ts';
import type { ConnectionUser, HttpConnection } from '../../../actors/mcp/links/http/http-connection.ts';
import type { ResponseHead } from '../../../actors/mcp/links/http/response-head.ts';
import type { HttpStream } from '../listener/seam.ts';
import { responseHeaders } from './forwarded-head.ts';
import { isProofRefusal } from './proof-refusal.ts';
import type { ForwardRequest } from './request-forwarder.ts';

/** Maximum size for responses to be collected. */
const COLLECTED_BYTES = 65_536;

export interface ForwardOptions {
  readonly request: ForwardRequest;
  /** Name of the owner. */
  readonly node: string;
  /** Instance of the owner. */
  readonly instance: string;
  /** Called once, when the client has its result. */
  onEnd(): void;
  /** Called if either node refuses the other's proof (cluster secret). */
  onProofRefused(why: string): void;
}

export class Forward implements ConnectionUser {
  readonly #options: ForwardOptions;
  #connection: HttpConnection | undefined;
  #wasSent = false;
  #isEnded = false;
  #head: ResponseHead | undefined;
  /** Set while a small response is collected. */
  #pieces: Buffer[] | undefined;
  #stream: HttpStream | undefined;

  constructor(options: ForwardOptions) {
    this.#options = options;
  }

  send(connection: HttpConnection, head: string, body: Buffer | undefined): void {
    this.#connection = connection;
    this.#options.request.context.reply.onAbort(() => this.#disconnect());
    connection.send(head, body, this);
  }

  /** Fails the request, because the owner has left the cluster or no longer responds. */
  failLostOwner(): void {
    if (this.#isEnded) return;
    if (!this.#wasSent) this.#refuseEnded();
    else
      this.#fail(
        new ConnectionLostError(`${this.#owner} left the cluster; the request may have been executed`),
      );
  }

  onConnected(): void {
    this.#wasSent = true;
  }

  onHead(head: ResponseHead): void {
    const refusal = head.header(nodeHeaders.refused);
    if (refusal !== undefined) {
      if (refusal === 'moved') this.#refuseUnknown(undefined);
      else if (refusal !== 'proof') this.#refuseEnded();
      else {
        this.#options.onProofRefused('it refuses the proof of this node');
        this.#fail(this.#unreachable('refuses the proof of this node'));
      }
      return;
    }
    this.#head = head;
    const bytes = head.bodyBytes;
    if (typeof bytes === 'number' && bytes <= COLLECTED_BYTES) {
      this.#pieces = [];
      return;
    }
    const { context } = this.#options.request;
    const stream = context.reply.stream(head.status, context.headers(responseHeaders(head)));
    this.#stream = stream;
    stream.onDrain(() => this.#connection?.resume());
  }

  onBody(piece: Buffer): number {
    if (this.#pieces !== undefined) this.#pieces.push(piece);
    else if (this.#stream?.write(piece) === false) this.#connection?.pause();
    return piece.length;
  }

  onEnd(): void {
    if (this.#isEnded || this.#head === undefined) return;
    this.#connection = undefined;
    this.#end();
    if (this.#pieces === undefined) this.#stream?.end();
    else {
      const { context } = this.#options.request;
      const [first = '', ...more] = this.#pieces;
      const body = more.length === 0 ? first : Buffer.concat(this.#pieces);
      context.reply.send(this.#head.status, context.headers(responseHeaders(this.#head)), body);
    }
  }

  onBroken(error: Error): void {
    if (this.#isEnded) return;
    if (isProofRefusal(error)) this.#options.onProofRefused((error as NodeJS.ErrnoException).code ?? '');
    const isPortClosed = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
    // If the port is closed, the process of the owner has exited.
    if (!this.#wasSent && isPortClosed) this.#refuseEnded();
    else if (!this.#wasSent) this.#fail(this.#unreachable(`is unreachable (${error.message})`));
    else
      this.#fail(
        new ConnectionLostError(
          `the connection to ${this.#owner} was lost; the request may have been executed`,
        ),
      );
  }

  /** Called when all connections to the owner are being closed. */
  destroy(): void {
    this.failLostOwner();
  }

  get #owner(): string {
    return `the node ${this.#options.node}, which owns the session or call,`;
  }

  #unreachable(problem: string): UnavailableError {
    return new UnavailableError(`${this.#owner} ${problem}; the request was not executed, retry shortly`, 1);
  }

  /** Refuses the request, because the owner has exited or is stopping. */
  #refuseEnded(): void {
    this.#refuseUnknown(this.#options.instance);
  }

  #refuseUnknown(endedInstance: string | undefined): void {
    const { request } = this.#options;
    if (this.#isEnded) return;
    this.#disconnect();
    request.refuseUnknown(endedInstance);
  }

  #fail(error: GatewayError): void {
    const { context, envelope } = this.#options.request;
    const stream = this.#stream;
    this.#disconnect();
    if (stream !== undefined) stream.destroy();
    else context.rpcError(error, envelope?.kind === 'request' ? envelope.rawId : undefined);
  }

  /** Closes the connection to the owner. */
  #disconnect(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#end();
    connection?.destroy();
  }

  #end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#options.onEnd();
  }
}
