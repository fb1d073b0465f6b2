// The answer to a request of the modern era. Its form is decided by the first message that comes: the answer itself
// is plain JSON with the status its error asks for, anything else begins a stream of events, and then the status is
// said (2026-07-28, Streamable HTTP). A stream cannot be taken up again, so its events have no ids; a client that
// closes it wants no answer any more.

import type { GatewayError } from '../../../actors/base/errors/errors.ts';
import type { Outlet } from '../../../actors/mcp/clients/outlet.ts';
import type { Message } from '../../../actors/mcp/jsonrpc/span.ts';
import type { HttpStream } from '../listener/seam.ts';
import { statusOfCode } from '../status.ts';
import { writeEvent } from './event-frame.ts';
import { type ExchangeContext, retryAfter } from './exchange-context.ts';
import type { Awaited, Heartbeat, HeartbeatTarget } from './heartbeat.ts';

const MAX_BUFFERED = 16 * 1024 * 1024;
const HEAD = 'event: message\n';

export class StatelessOutlet implements Outlet, Awaited, HeartbeatTarget {
  readonly since = performance.now();
  previous: Awaited | undefined;
  next: Awaited | undefined;
  readonly #context: ExchangeContext;
  readonly #heartbeat: Heartbeat;
  #http: HttpStream | undefined;
  #onGone: (() => void) | undefined;
  isEnded = false;

  constructor(context: ExchangeContext, heartbeat: Heartbeat) {
    this.#context = context;
    this.#heartbeat = heartbeat;
    heartbeat.awaited.add(this);
    context.reply.onAbort(() => this.#gone());
  }

  /** The request was refused before it began: whoever refused it answers. */
  leave(): void {
    this.#release();
  }

  /** Called when the client has gone before the end. */
  whenGone(onGone: () => void): void {
    this.#onGone = onGone;
  }

  send(message: Message): void {
    this.becomeStream();
    const http = this.#http;
    if (http === undefined || http.isDone) return;
    // A reader that takes nothing loses its stream, and with it the request (A8).
    if (http.bufferedBytes > MAX_BUFFERED) {
      http.destroy();
      this.#gone();
    } else writeEvent(http, HEAD, message);
  }

  finish(message: Message, error?: GatewayError, rpcCode?: number): void {
    if (this.isEnded) return;
    const http = this.#http;
    this.#release();
    if (http !== undefined) {
      writeEvent(http, HEAD, message);
      http.end();
    } else if (error !== undefined) this.#context.message(200, message, retryAfter(error));
    else this.#context.message(rpcCode === undefined ? 200 : statusOfCode(rpcCode), message);
  }

  finishInPieces(pieces: readonly Buffer[], rpcCode?: number): void {
    this.finish(pieces, undefined, rpcCode);
  }

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
    this.#heartbeat.awaited.delete(this);
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

  #gone(): void {
    if (this.isEnded) return;
    this.#release();
    this.#onGone?.();
  }

  #release(): void {
    this.isEnded = true;
    this.#http = undefined;
    this.#heartbeat.awaited.delete(this);
    this.#heartbeat.streams.delete(this);
  }
}
