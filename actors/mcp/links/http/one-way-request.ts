// A request to a remote server of which only the status matters: a notification, an answer to a server's own
// request, a message over the older transport, the DELETE of a session. The body of the answer is dropped.

import type { GatewayError } from '../../../base/errors/errors.ts';
import type { Refusal } from './remote-errors.ts';
import type { RemoteEvents, RemoteRequest } from './remote-request.ts';
import { mediaType, type RemoteSession, type RequestParts } from './remote-session.ts';
import type { ResponseHead } from './response-head.ts';

const DROPPED_BYTES = 65_536;
const BODY_DEADLINE_MS = 5_000;

/** Exactly one of these is called, and none after `destroy`. */
export interface OneWayEvents {
  onTaken(): void;
  onRefused(refusal: Refusal): void;
  onFailed(error: GatewayError, wasSent: boolean): void;
}

export class OneWayRequest implements RemoteEvents {
  readonly #events: OneWayEvents;
  readonly #request: RemoteRequest;
  #dropped = 0;
  #isTold = false;

  /** Without `deadlineMs` it is the caller who destroys a request that gets no answer. */
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
    this.#isTold = true;
    this.#request.destroy();
  }

  onAccepted(head: ResponseHead): void {
    // A stream has no end to wait for, and another body that does not end is not worth its socket.
    if (mediaType(head) === 'text/event-stream') this.#request.destroy();
    else this.#request.setDeadline(BODY_DEADLINE_MS);
    this.#tell(() => this.#events.onTaken());
  }

  onData(chunk: Buffer): number {
    this.#dropped += chunk.length;
    if (this.#dropped > DROPPED_BYTES) this.#request.destroy();
    return chunk.length;
  }

  onEnd(): void {}

  onRefused(refusal: Refusal): void {
    this.#tell(() => this.#events.onRefused(refusal));
  }

  onFailed(error: GatewayError, wasSent: boolean): void {
    this.#tell(() => this.#events.onFailed(error, wasSent));
  }

  #tell(report: () => void): void {
    if (this.#isTold) return;
    this.#isTold = true;
    report();
  }
}
