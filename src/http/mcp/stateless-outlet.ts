// Response to a stateless request (MCP 2026-07-28, Streamable HTTP). The first message determines its form. A
// result becomes plain JSON; its status is 200, unless a JSON-RPC error shows that the request itself is
// invalid. Any other message starts an event stream with status 200. A stream cannot be resumed, so events
// have no ids. A client cancels the request by closing the stream.

import type { GatewayError } from '../../../actors/base/errors/errors.ts';
import type { Outlet } from '../../../actors/mcp/clients/outlet.ts';
import type { Message } from '../../../actors/mcp/jsonrpc/span.ts';
import type { HttpStream } from '../listener/seam.ts';
import { statusOfCode } from '../status.ts';
import { writeEvent } from './event-frame.ts';
import { type ExchangeContext, retryAfter } from './exchange-context.ts';
import type { Heartbeat, HeartbeatTarget, PendingReply } from './heartbeat.ts';

const MAX_BUFFERED = 16 * 1024 * 1024;
const HEAD = 'event: message\n';

export class StatelessOutlet implements Outlet, PendingReply, HeartbeatTarget {
  readonly requestedAt = performance.now();
  previous: PendingReply | undefined;
  next: PendingReply | undefined;
  readonly #context: ExchangeContext;
  readonly #heartbeat: Heartbeat;
  #http: HttpStream | undefined;
  #onDisconnect: (() => void) | undefined;
  isEnded = false;

  constructor(context: ExchangeContext, heartbeat: Heartbeat) {
    this.#context = context;
    this.#heartbeat = heartbeat;
    heartbeat.pending.add(this);
    context.reply.onAbort(() => this.#disconnect());
  }

  /** Called if the request was refused. The caller responds. */
  abandon(): void {
    this.#release();
  }

  /** Sets the listener for a disconnect during the response. */
  onDisconnect(listener: () => void): void {
    this.#onDisconnect = listener;
  }

  send(message: Message): void {
    this.becomeStream();
    const http = this.#http;
    if (http === undefined || http.isDone) return;
    // The client does not read, so the stream is closed and the request cancelled (A8, ARCHITECTURE.md).
    if (http.bufferedBytes > MAX_BUFFERED) {
      http.destroy();
      this.#disconnect();
    } else writeEvent(http, HEAD, message);
  }

  finish(message: Message, error?: GatewayError, rpcCode?: number): void {
    if (this.isEnded) return;
    const http = this.#http;
    this.#release();
    // An error of the gateway has status 200, because the request was accepted (EXC1, exchange-context.ts).
    if (error !== undefined) this.#context.countRefusal(error);
    if (http !== undefined) {
      writeEvent(http, HEAD, message);
      http.end();
    } else if (error !== undefined) this.#context.message(200, message, retryAfter(error));
    else this.#context.message(rpcCode === undefined ? 200 : statusOfCode(rpcCode), message);
  }

  finishInPieces(pieces: readonly Buffer[], rpcCode?: number): void {
    this.finish(pieces, undefined, rpcCode);
  }

  statusOf(error: GatewayError | undefined, rpcCode: number | undefined): number {
    const isPlain = this.#http === undefined && error === undefined && rpcCode !== undefined;
    return isPlain ? statusOfCode(rpcCode) : 200;
  }

  /** Ends the response without a result, because the request was cancelled. */
  drop(): void {
    if (this.isEnded) return;
    const http = this.#http;
    this.#release();
    if (http !== undefined) http.end();
    else this.#context.empty(202);
  }

  heartbeat(): void {
    this.#http?.write(': \n\n');
  }

  becomeStream(): void {
    this.#heartbeat.pending.delete(this);
    if (this.#http !== undefined || this.isEnded || this.#context.reply.isDone) return;
    const headers = this.#context.headers([
      ['content-type', 'text/event-stream'],
      ['cache-control', 'no-store'],
      ['x-accel-buffering', 'no'],
    ]);
    this.#http = this.#context.reply.stream(200, headers);
    this.#heartbeat.streams.add(this);
    this.#http.write(': open\n\n');
  }

  #disconnect(): void {
    if (this.isEnded) return;
    this.#release();
    this.#onDisconnect?.();
  }

  #release(): void {
    this.isEnded = true;
    this.#http = undefined;
    this.#heartbeat.pending.delete(this);
    this.#heartbeat.streams.delete(this);
  }
}
