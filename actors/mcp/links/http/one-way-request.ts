// A request to a remote server for which only the response status matters: a notification, a response to a
// server request, a message of the SSE transport, the DELETE of a session. The response body is dropped.

import type { GatewayError } from '../../../base/errors/errors.ts';
import type { ErrorResponse } from './remote-errors.ts';
import type { RemoteEvents, RemoteRequest, RequestParts } from './remote-request.ts';
import { mediaType, type RemoteSession } from './remote-session.ts';
import type { ResponseHead } from './response-head.ts';

/** The connection of a larger body is closed. After a smaller body it is reused. */
const MAX_DROPPED_BYTES = 65_536;
/** Time to read the body. */
const BODY_DEADLINE_MS = 5_000;

/** Exactly one method is called; none after `destroy`. */
export interface OneWayEvents {
  onDelivered(): void;
  onRefused(refusal: ErrorResponse): void;
  onFailed(error: GatewayError, wasSent: boolean): void;
}

export class OneWayRequest implements RemoteEvents {
  readonly #events: OneWayEvents;
  readonly #request: RemoteRequest;
  #droppedBytes = 0;
  #isReported = false;

  /** Without `deadlineMs` the caller must destroy the request if it gets no response. */
  constructor(
    session: RemoteSession,
    parts: RequestParts,
    events: OneWayEvents,
    deadlineMs: number | undefined,
  ) {
    this.#events = events;
    this.#request = session.request(parts, this);
    if (deadlineMs !== undefined) this.#request.setDeadline(deadlineMs);
  }

  destroy(): void {
    this.#isReported = true;
    this.#request.destroy();
  }

  onAccepted(head: ResponseHead): void {
    // The body is not needed. A stream could stay open forever; any other body has a deadline.
    if (mediaType(head) === 'text/event-stream') this.#request.destroy();
    else this.#request.setDeadline(BODY_DEADLINE_MS);
    this.#report(() => this.#events.onDelivered());
  }

  /** Drops the bytes and returns their number: all are accepted. */
  onData(chunk: Buffer): number {
    this.#droppedBytes += chunk.length;
    if (this.#droppedBytes > MAX_DROPPED_BYTES) this.#request.destroy();
    return chunk.length;
  }

  onEnd(): void {}

  onRefused(refusal: ErrorResponse): void {
    this.#report(() => this.#events.onRefused(refusal));
  }

  onFailed(error: GatewayError, wasSent: boolean): void {
    this.#report(() => this.#events.onFailed(error, wasSent));
  }

  #report(report: () => void): void {
    if (this.#isReported) return;
    this.#isReported = true;
    report();
  }
}
