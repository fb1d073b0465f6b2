// Response to a POST with a session request. The first message determines its form: if it is the result,
// the response is plain JSON; any other message starts an event stream (Streamable HTTP, "Sending Messages").

import type { GatewayError } from '../../../actors/base/errors/errors.ts';
import type { Outlet } from '../../../actors/mcp/clients/outlet.ts';
import type { ClientSession } from '../../../actors/mcp/clients/sessions/session.ts';
import type { Message } from '../../../actors/mcp/jsonrpc/span.ts';
import { statusOf } from '../status.ts';
import { EventStream } from './event-stream.ts';
import { type ExchangeContext, retryAfter } from './exchange-context.ts';
import type { Heartbeat, PendingReply } from './heartbeat.ts';

export class PostOutlet implements Outlet, PendingReply {
  readonly requestedAt = performance.now();
  previous: PendingReply | undefined;
  next: PendingReply | undefined;
  /** For `initialize`, set when the session was opened; the response contains its id. */
  session: ClientSession | undefined;

  readonly #context: ExchangeContext;
  readonly #heartbeat: Heartbeat;
  readonly #rawRequestId: string;
  #stream: EventStream | undefined;

  constructor(
    context: ExchangeContext,
    heartbeat: Heartbeat,
    session: ClientSession | undefined,
    rawRequestId: string,
  ) {
    this.#context = context;
    this.#heartbeat = heartbeat;
    this.#rawRequestId = rawRequestId;
    this.session = session;
    if (session !== undefined) heartbeat.pending.add(this);
  }

  send(message: Message): void {
    this.becomeStream();
    this.#stream?.send(message);
  }

  finish(message: Message, error?: GatewayError): void {
    this.#heartbeat.pending.delete(this);
    if (error !== undefined) this.#context.countRefusal(error);
    if (this.#stream !== undefined) {
      this.#stream.send(message);
      this.#closeStream(this.#stream);
      return;
    }
    // Status 200, because the request was accepted (EXC1, exchange-context.ts). Errors have no session id: a
    // failed `initialize` closes its session.
    if (error !== undefined) this.#context.message(200, message, retryAfter(error));
    else {
      const { session } = this;
      const id = session === undefined || session.isEnded ? [] : [['mcp-session-id', session.id] as const];
      this.#context.message(200, message, id);
    }
  }

  finishInPieces(pieces: readonly Buffer[]): void {
    this.finish(pieces);
  }

  statusOf(): number {
    return 200;
  }

  /** Ends the response without a result, because the client cancelled the request. */
  drop(): void {
    this.#heartbeat.pending.delete(this);
    if (this.#stream === undefined) this.#context.empty(202);
    else this.#closeStream(this.#stream);
  }

  becomeStream(): void {
    this.#heartbeat.pending.delete(this);
    if (this.#stream !== undefined || this.session === undefined || this.#context.reply.isDone) return;
    const stream = new EventStream(this.session, this.#rawRequestId);
    this.#stream = stream;
    stream.connect(this.#context);
    this.#heartbeat.streams.add(stream);
  }

  #closeStream(stream: EventStream): void {
    this.#heartbeat.streams.delete(stream);
    stream.end();
  }
}

/** Response to a request of POST /rpc: always JSON. Messages before the response are dropped. */
export class JsonOutlet implements Outlet {
  readonly #context: ExchangeContext;

  constructor(context: ExchangeContext) {
    this.#context = context;
  }

  send(): void {
    // Dropped: only a stream could send it.
  }

  finish(message: Message, error?: GatewayError): void {
    if (error === undefined) {
      this.#context.message(200, message);
      return;
    }
    this.#context.countRefusal(error);
    this.#context.message(statusOf(error), message, retryAfter(error));
  }

  statusOf(error: GatewayError | undefined): number {
    return error === undefined ? 200 : statusOf(error);
  }

  finishInPieces(pieces: readonly Buffer[]): void {
    this.finish(pieces);
  }

  /** Ends the response without a result, because the client cancelled the request. */
  drop(): void {
    this.#context.empty(202);
  }
}
