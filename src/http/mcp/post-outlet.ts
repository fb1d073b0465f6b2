// The answer to a POST that carries a request of a session. Its form is decided by the first message that comes:
// the answer itself makes it plain JSON, anything else a stream of events (Streamable HTTP, "Sending Messages").

import type { GatewayError } from '../../../actors/base/errors/errors.ts';
import type { Outlet } from '../../../actors/mcp/clients/outlet.ts';
import type { ClientSession } from '../../../actors/mcp/clients/sessions/session.ts';
import type { Message } from '../../../actors/mcp/jsonrpc/span.ts';
import { statusOf } from '../status.ts';
import { EventStream } from './event-stream.ts';
import { type ExchangeContext, retryAfter } from './exchange-context.ts';
import type { Awaited, Heartbeat } from './heartbeat.ts';

export class PostOutlet implements Outlet, Awaited {
  readonly since = performance.now();
  previous: Awaited | undefined;
  next: Awaited | undefined;
  /** Set once the session is known; the answer to `initialize` tells its id. */
  session: ClientSession | undefined;

  readonly #context: ExchangeContext;
  readonly #heartbeat: Heartbeat;
  #stream: EventStream | undefined;

  constructor(context: ExchangeContext, heartbeat: Heartbeat, session: ClientSession | undefined) {
    this.#context = context;
    this.#heartbeat = heartbeat;
    this.session = session;
    if (session !== undefined) heartbeat.awaited.add(this);
  }

  send(message: Message): void {
    this.becomeStream();
    this.#stream?.send(message);
  }

  finish(message: Message, error?: GatewayError): void {
    this.#heartbeat.awaited.delete(this);
    if (this.#stream !== undefined) {
      this.#stream.send(message);
      this.#endStream(this.#stream);
      return;
    }
    // EXC1. Errors carry no session id: a failed `initialize` closes its session.
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

  drop(): void {
    this.#heartbeat.awaited.delete(this);
    if (this.#stream === undefined) this.#context.empty(202);
    else this.#endStream(this.#stream);
  }

  becomeStream(): void {
    this.#heartbeat.awaited.delete(this);
    if (this.#stream !== undefined || this.session === undefined || this.#context.reply.isDone) return;
    const stream = new EventStream(this.session);
    this.#stream = stream;
    stream.connect(this.#context);
    this.#heartbeat.streams.add(stream);
  }

  #endStream(stream: EventStream): void {
    this.#heartbeat.streams.delete(stream);
    stream.end();
  }
}

/** The answer to a request without a session: JSON only, and nothing before it. */
export class JsonOutlet implements Outlet {
  readonly #context: ExchangeContext;

  constructor(context: ExchangeContext) {
    this.#context = context;
  }

  send(): void {
    // Without a stream there is no room for it.
  }

  finish(message: Message, error?: GatewayError): void {
    if (error === undefined) this.#context.message(200, message);
    else this.#context.message(statusOf(error), message, retryAfter(error));
  }

  finishInPieces(pieces: readonly Buffer[]): void {
    this.finish(pieces);
  }

  drop(): void {
    this.#context.empty(202);
  }
}
