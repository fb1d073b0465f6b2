// A timer for all open responses. Proxies close quiet connections, so each stream gets a comment every 15 s,
// and a response that is pending for a few seconds becomes a stream.

import { LinkedList, type ListMember } from '../../../actors/base/bounds/linked-list.ts';

const TICK_MS = 1_000;
const BEAT_TICKS = 15;

export interface HeartbeatTarget {
  heartbeat(): void;
}

export interface PendingReply extends ListMember<PendingReply> {
  /** `performance.now()` of the request. */
  readonly requestedAt: number;
  /** Starts a stream, because the response is late. */
  becomeStream(): void;
}

/** Time after which a pending response becomes a stream. */
export const STREAM_AFTER_MS = 5_000;

export class Heartbeat {
  readonly streams = new Set<HeartbeatTarget>();
  readonly pending = new LinkedList<PendingReply>();
  readonly #timer: NodeJS.Timeout;
  #ticks = 0;

  constructor() {
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    for (const stream of this.streams) stream.heartbeat();
  }

  #tick(): void {
    const latestRequestAt = performance.now() - STREAM_AFTER_MS;
    // `pending` is in the order of the requests, so the rest of the list is not late either.
    for (const reply of this.pending) {
      if (reply.requestedAt > latestRequestAt) break;
      this.pending.delete(reply);
      reply.becomeStream();
    }
    this.#ticks += 1;
    if (this.#ticks % BEAT_TICKS === 0) this.#beat();
  }
}
