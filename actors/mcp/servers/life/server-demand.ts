// Asks the machine of a server for a start, as a waiting call would: a backoff or park that is not over keeps the server off
// (SS3).

import type { ServerEntry } from '../../../../config/catalog/catalog-schema.ts';
import { steadyNow } from '../../../base/time/steady-clock.ts';
import type { CallOwner } from '../calls/call-owner.ts';
import type { Handle } from '../handle.ts';
import type { ServerLife } from './server-life.ts';

export interface ServerDemandOptions {
  readonly entry: ServerEntry;
  readonly handle: Handle;
  readonly life: ServerLife;
  /** Asks the supervisor to start the actor, also during a backoff or park. */
  readonly wake: () => void;
}

export class ServerDemand {
  readonly #options: ServerDemandOptions;
  /** Owner of the first connection if no call waits for it. */
  #owner: CallOwner | undefined;
  /** Learns the lists of the server on its first connection. */
  isToLearn = false;

  constructor(options: ServerDemandOptions) {
    this.#options = options;
  }

  /** Demands a start. The first connection belongs to `owner` if no call waits. */
  start(owner?: CallOwner | undefined): void {
    const { entry, handle, life, wake } = this.#options;
    if (!entry.enabled) return;
    this.#owner = owner;
    const { until } = handle.breaker;
    if (until === undefined) life.send({ type: 'demand' });
    else if (until <= steadyNow()) wake();
  }

  /** Settles at once, or, for a server that has failed, when its backoff is over; then it is started. */
  async untilStartable(): Promise<void> {
    const { life } = this.#options;
    if (life.state !== 'failed') return;
    const left = life.until((state) => state !== 'failed');
    this.start();
    await left;
  }

  /** Returns the client that asked last; it is forgotten. */
  takeOwner(): CallOwner | undefined {
    const owner = this.#owner;
    this.#owner = undefined;
    return owner;
  }

  /** Starts nothing more for a client that leaves. */
  forget(owner: CallOwner): void {
    if (this.#owner === owner) this.#owner = undefined;
  }
}
