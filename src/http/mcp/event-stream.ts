// A session's server-sent event stream, for the response to a request or for all other messages. It
// continues when its connection is lost: messages are stored in the replay ring of the session, and a client
// that reconnects with Last-Event-ID gets the rest of the stream (Streamable HTTP, "Resumability and
// Redelivery").
//
// An event is numbered and stored before it is written. A client that reads slowly is cut off at MAX_BUFFERED
// bytes, or when the limit for slow readers is reached (readers.ts). It may reconnect and request the rest.

import { eventId } from '../../../actors/mcp/clients/sessions/event-id.ts';
import type { ClientSession } from '../../../actors/mcp/clients/sessions/session.ts';
import type { Message } from '../../../actors/mcp/jsonrpc/span.ts';
import type { HttpStream } from '../listener/seam.ts';
import { writeEvent } from './event-frame.ts';
import type { ExchangeContext } from './exchange-context.ts';

const MAX_BUFFERED = 16 * 1024 * 1024;
/** Delay before a client reconnects. */
const RETRY_MS = 1000;

export class EventStream {
  readonly id: number;
  readonly #session: ClientSession;
  /** Raw id of the request whose response this is; undefined for the notification stream. */
  readonly #rawRequestId: string | undefined;
  #http: HttpStream | undefined;
  #number = 0;
  isEnded = false;
  /** Called when the stream is closed, not when its connection is lost. */
  whenEnded: (() => void) | undefined;

  constructor(session: ClientSession, rawRequestId?: string, id: number = session.replay.newStream()) {
    this.#session = session;
    this.#rawRequestId = rawRequestId;
    this.id = id;
    liveStreams(session).set(id, this);
  }

  get isConnected(): boolean {
    return this.#http !== undefined && !this.#http.isDone;
  }

  /**
   * Starts the response to a client that already has the events up to number `after`. Calls `onDisconnect` if
   * the connection is lost; the stream continues.
   */
  connect(context: ExchangeContext, after = 0, onDisconnect?: () => void): void {
    const http = context.reply.stream(
      200,
      context.headers([
        ['content-type', 'text/event-stream'],
        ['cache-control', 'no-store'],
        ['x-accel-buffering', 'no'],
        ['mcp-session-id', this.#session.id],
      ]),
    );
    this.#http = http;
    context.reply.onAbort(() => {
      if (this.#http === http) this.#http = undefined;
      onDisconnect?.();
    });
    // The first bytes also send the headers. Clients of older revisions do not support an event without data.
    if (this.#session.protocolVersion >= '2025-11-25') {
      http.write(`id: ${this.#eventId(after)}\nretry: ${RETRY_MS}\ndata:\n\n`);
    } else http.write(': open\n\n');
  }

  /** Writes the stored events after `number`. */
  replayAfter(number: number): void {
    for (const event of this.#session.replay.after(this.id, number)) this.#write(event.number, event.message);
  }

  send(message: Message): void {
    if (this.isEnded) return;
    this.#number += 1;
    this.#session.replay.add(this.id, this.#number, message);
    this.#write(this.#number, message);
  }

  heartbeat(): void {
    this.#http?.write(': \n\n');
  }

  end(): void {
    if (this.isEnded) return;
    this.isEnded = true;
    liveStreams(this.#session).delete(this.id);
    this.#session.replay.end(this.id);
    this.#http?.end();
    this.#http = undefined;
    this.whenEnded?.();
  }

  /** Closes the connection, because the client has opened a new one for this stream. */
  disconnect(): void {
    this.#http?.end();
    this.#http = undefined;
  }

  #eventId(number: number): string {
    return eventId({ stream: this.id, number, rawRequestId: this.#rawRequestId });
  }

  #write(number: number, message: Message): void {
    const http = this.#http;
    if (http === undefined || http.isDone) return;
    if (http.bufferedBytes > MAX_BUFFERED) {
      this.#http = undefined;
      http.destroy();
      return;
    }
    writeEvent(http, `id: ${this.#eventId(number)}\nevent: message\n`, message);
  }
}

const streamsBySession = new WeakMap<ClientSession, Map<number, EventStream>>();

/** Returns the session's open streams, by id. */
export function liveStreams(session: ClientSession): Map<number, EventStream> {
  let streams = streamsBySession.get(session);
  if (streams === undefined) {
    streams = new Map();
    streamsBySession.set(session, streams);
  }
  return streams;
}
