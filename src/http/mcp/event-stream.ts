// One server-sent event stream of a session, for one request or for everything else. It outlives its connection: what
// is sent while nobody listens is kept in the session's ring, and a client that comes back with Last-Event-ID gets
// the rest of this stream and of no other (Streamable HTTP, "Resumability and Redelivery").
//
// EV1  an event is numbered and kept before it is written.
// EV2  a reader that takes nothing is cut off at MAX_BUFFERED bytes, or when there is no room for it (readers.ts); it may
//     come back and ask for the rest.

import { eventId } from '../../../actors/mcp/clients/sessions/replay-ring.ts';
import type { ClientSession } from '../../../actors/mcp/clients/sessions/session.ts';
import type { Message } from '../../../actors/mcp/jsonrpc/span.ts';
import type { HttpStream } from '../listener/seam.ts';
import { writeEvent } from './event-frame.ts';
import type { ExchangeContext } from './exchange-context.ts';

const MAX_BUFFERED = 16 * 1024 * 1024;
const RETRY_MS = 1000;

export class EventStream {
  readonly id: number;
  readonly #session: ClientSession;
  #http: HttpStream | undefined;
  #number = 0;
  isEnded = false;
  /** Called when it ends, but not when its connection is lost. */
  whenEnded: (() => void) | undefined;

  constructor(session: ClientSession, id: number = session.replay.newStream()) {
    this.#session = session;
    this.id = id;
    liveStreams(session).set(id, this);
  }

  get isConnected(): boolean {
    return this.#http !== undefined && !this.#http.isDone;
  }

  /**
   * Begins the answer on a request, for a client that has the events up to number `after`; `onGone` tells that its
   * connection is lost, while the stream goes on.
   */
  connect(context: ExchangeContext, after = 0, onGone?: () => void): void {
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
      onGone?.();
    });
    // The headers leave with the first bytes. Clients of older revisions stumble over an event without data.
    if (this.#session.protocolVersion >= '2025-11-25') {
      http.write(`id: ${eventId(this.id, after)}\nretry: ${RETRY_MS}\ndata:\n\n`);
    } else http.write(': open\n\n');
  }

  /** Writes again what the client has missed after event `number`. */
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

  /** Another connection takes over. */
  disconnect(): void {
    this.#http?.end();
    this.#http = undefined;
  }

  #write(number: number, message: Message): void {
    const http = this.#http;
    if (http === undefined || http.isDone) return;
    if (http.bufferedBytes > MAX_BUFFERED) {
      this.#http = undefined;
      http.destroy();
      return;
    }
    writeEvent(http, `id: ${eventId(this.id, number)}\nevent: message\n`, message);
  }
}

const streamsBySession = new WeakMap<ClientSession, Map<number, EventStream>>();

/** The streams of a session that have not ended, by id. */
export function liveStreams(session: ClientSession): Map<number, EventStream> {
  let streams = streamsBySession.get(session);
  if (streams === undefined) {
    streams = new Map();
    streamsBySession.set(session, streams);
  }
  return streams;
}
