// Cancelling what another node is handling: it is written down in the store, where every node looks for what is its own, and whoever
// asked waits until that has been done. Only where there are other nodes.
//
// CAN1  who asks is told that it was done by the node that has told the run to end, that there was nothing to cancel, or that
//       nobody has done it in time; in the last case nothing is left of the wish.

import { setTimeout as elapse } from 'node:timers/promises';
import { UnavailableError } from '../../base/errors/errors.ts';
import type { Log } from '../../base/errors/log.ts';
import type { Store } from '../../store/store.ts';

export interface CancelsOptions {
  readonly store: Pick<Store, 'put' | 'get' | 'delete' | 'keys' | 'delivery'>;
  readonly log: Log;
  /** Tells the attempt at that event here to end; false where there is none. */
  cancel(id: string, note: string): boolean;
}

const SPACE = 'cancel';
const LOOK_MS = 250;
const ASKED_EVERY_MS = 100;
const PATIENCE_MS = 2_000;
/** Of a wish whose node is gone. */
const TTL_MS = 10_000;

export class Cancels {
  readonly #options: CancelsOptions;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(options: CancelsOptions) {
    this.#options = options;
  }

  begin(): void {
    this.#timer ??= setInterval(() => void this.look(), LOOK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** False where it is not being handled any more. Rejects with UnavailableError where its node does not answer. */
  async ask(id: string, note: string): Promise<boolean> {
    const { store } = this.#options;
    await store.put(SPACE, id, note, { ttlMs: TTL_MS });
    const endsAt = performance.now() + PATIENCE_MS;
    while (performance.now() < endsAt) {
      await elapse(ASKED_EVERY_MS);
      if ((await store.get(SPACE, id)) === undefined) return true;
      if ((await store.delivery(id))?.state === 'running') continue;
      await store.delete(SPACE, id);
      return false;
    }
    await store.delete(SPACE, id);
    throw new UnavailableError('the node that handles it does not answer; try again', PATIENCE_MS / 1000);
  }

  /** Does what was asked for of what runs here. Never rejects. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const { store, log, cancel } = this.#options;
    try {
      for (const id of await store.keys(SPACE)) {
        const note = (await store.get(SPACE, id))?.value;
        if (note !== undefined && cancel(id, note)) await store.delete(SPACE, id);
      }
    } catch (error) {
      log.debug({ reason: (error as Error).message }, 'what is to be cancelled cannot be looked for');
    } finally {
      this.#isLooking = false;
    }
  }
}
