// Requests a start of the server from its state machine, as a queued call does. The request does not cancel a
// backoff (delay after a failure) or park (refusal of calls after many failures; SS3, server-start.ts).

import type { ServerEntry } from '../../../../config/catalog/catalog-schema.ts';
import { monotonicNow } from '../../../base/time/monotonic-clock.ts';
import type { CallOwner } from '../calls/owner.ts';
import type { Handle } from '../handle.ts';
import type { ServerLife } from './server-life.ts';

export interface ServerDemandOptions {
  readonly entry: ServerEntry;
  readonly handle: Handle;
  readonly life: ServerLife;
  /** Asks the supervisor to start the state machine now. Called only after the park time. */
  readonly wake: () => void;
}

export class ServerDemand {
  readonly #options: ServerDemandOptions;
  /** Client session that gets the first connection if no call is queued. */
  #owner: CallOwner | undefined;
  /** True if the start must fetch the lists, so it continues when its client disconnects. */
  fetchesLists = false;

  constructor(options: ServerDemandOptions) {
    this.#options = options;
  }

  /** Requests a start. If no call is queued, `owner` gets the first connection. */
  start(owner?: CallOwner | undefined): void {
    const { entry, handle, life, wake } = this.#options;
    if (!entry.enabled) return;
    this.#owner = owner;
    const { until } = handle.breaker;
    if (until === undefined) life.send({ type: 'demand' });
    else if (until <= monotonicNow()) wake();
  }

  /** Resolves immediately; for a failed server when it starts again after the backoff. */
  async untilStartable(): Promise<void> {
    const { life } = this.#options;
    if (life.state !== 'failed') return;
    const whenRestarted = life.until((state) => state !== 'failed');
    this.start();
    await whenRestarted;
  }

  /** Returns the client that requested the last start, and forgets it. */
  takeOwner(): CallOwner | undefined {
    const owner = this.#owner;
    this.#owner = undefined;
    return owner;
  }

  /** Forgets a client that disconnects: the first connection is not opened for it. */
  forget(owner: CallOwner): void {
    if (this.#owner === owner) this.#owner = undefined;
  }
}
