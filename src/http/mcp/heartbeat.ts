// One timer for all open answers: a comment every 15 s keeps proxies from closing quiet streams, and an answer that
// is still waited for after a few seconds becomes a stream, for the same reason.

import { type Linked, LinkedList } from '../../../actors/base/bounds/linked-list.ts';

const TICK_MS = 1_000;
const BEAT_TICKS = 15;

export interface HeartbeatTarget {
  heartbeat(): void;
}

export interface Awaited extends Linked<Awaited> {
  /** performance.now() of the request. */
  readonly since: number;
  /** Begins a stream, since the answer takes its time. */
  becomeStream(): void;
}

/** A request without an answer for this long gets a stream. */
export const PATIENCE_MS = 5_000;

export class Heartbeat {
  readonly streams = new Set<HeartbeatTarget>();
  readonly awaited = new LinkedList<Awaited>();
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
    const late = performance.now() - PATIENCE_MS;
    // In the order of arrival: the first that is not late ends the round.
    for (const waiting of this.awaited) {
      if (waiting.since > late) break;
      this.awaited.delete(waiting);
      waiting.becomeStream();
    }
    this.#ticks += 1;
    if (this.#ticks % BEAT_TICKS === 0) this.#beat();
  }
}
