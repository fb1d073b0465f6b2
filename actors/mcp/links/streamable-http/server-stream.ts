// The stream for messages that a server sends without a request: a GET that stays open. When it breaks, it is
// resumed after the last event. Servers may lack it (405). A lost session is reported only if the server
// offered the stream before.

import type { GatewayError } from '../../../base/errors/errors.ts';
import type { ReadingTurn } from '../http/paced-reader.ts';
import { reconnectDelayMs } from '../http/reconnect-delay.ts';
import { type ErrorResponse, sessionLostError } from '../http/remote-errors.ts';
import type { RemoteEvents, RemoteRequest } from '../http/remote-request.ts';
import { mediaType, type RemoteOptions, type RemoteSession } from '../http/remote-session.ts';
import type { ResponseHead } from '../http/response-head.ts';
import { type SseCursor, SseParser } from '../sse/sse-parser.ts';
import { isSessionLost } from './session-loss.ts';

/**
 * Uptime after which the stream counts as working. An earlier break without any message counts as a failure.
 */
const STEADY_MS = 5_000;

export interface ServerStreamEvents {
  onMessage(bytes: Buffer): void;
  onOversized(size: number, id: string | undefined, requestId: string | undefined): void;
  onSessionLost(error: GatewayError): void;
}

export class ServerStream implements RemoteEvents {
  readonly #session: RemoteSession;
  readonly #options: RemoteOptions;
  readonly #events: ServerStreamEvents;
  readonly #cursor: SseCursor = { lastEventId: '', retryMs: undefined };
  #request: RemoteRequest | undefined;
  #parser: SseParser | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #openedAt: number | undefined;
  #isClosed = false;

  constructor(session: RemoteSession, options: RemoteOptions, events: ServerStreamEvents) {
    this.#session = session;
    this.#options = options;
    this.#events = events;
  }

  open(): void {
    if (this.#isClosed) return;
    const headers: Record<string, string> = { accept: 'text/event-stream' };
    if (this.#cursor.lastEventId !== '') headers['last-event-id'] = this.#cursor.lastEventId;
    this.#request = this.#session.request({ method: 'GET', headers }, this);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#request?.destroy();
  }

  onAccepted(head: ResponseHead): void {
    if (mediaType(head) !== 'text/event-stream') {
      this.#request?.destroy();
      this.#openLater();
      return;
    }
    this.#openedAt = performance.now();
    this.#parser = new SseParser(this.#options.maxMessageBytes, this.#cursor, {
      onEvent: (type, data) => {
        if (type !== 'message' || this.#isClosed) return;
        this.#failures = 0;
        this.#events.onMessage(data);
      },
      onOversizedEvent: (_type, { size, id, requestId }) => {
        if (!this.#isClosed) this.#events.onOversized(size, id, requestId);
      },
    });
  }

  /** Returns the number of parsed bytes; fewer if `turn`, the time slice, expires. */
  onData(chunk: Buffer, turn: ReadingTurn | undefined): number {
    return this.#parser?.feed(chunk, turn) ?? chunk.length;
  }

  onEnd(): void {
    if (this.#openedAt !== undefined && performance.now() - this.#openedAt > STEADY_MS) this.#failures = 0;
    this.#openLater();
  }

  onRefused(refusal: ErrorResponse): void {
    const wasOpen = this.#openedAt !== undefined;
    // The body is no JSON-RPC response, because the GET contains no JSON-RPC request.
    if (wasOpen && this.#session.id !== undefined && isSessionLost(refusal, false)) {
      this.#events.onSessionLost(sessionLostError(refusal, this.#options.redactor));
    } else if (refusal.status === 405 || (refusal.status === 404 && !wasOpen)) {
      // The server offers no stream. A 404 at the first attempt means that it has no route for GET. It does
      // not mean a lost session: that would show at the next POST, and a new session would get the same 404.
      this.close();
    } else {
      this.#openLater();
    }
  }

  onFailed(): void {
    this.onEnd();
  }

  #openLater(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => this.open(), reconnectDelayMs(this.#failures, this.#cursor.retryMs));
    this.#failures += 1;
  }
}
