// Applies pauses and resumes from other nodes. Reads them from the store after each update of the member
// list, several times per membership lease. Reads are sequential; a failed read is repeated with the next
// update.

import type { Log } from '../../base/errors/log.ts';
import type { ClusterMembership } from '../../store/membership.ts';
import type { Store } from '../../store/store.ts';
import type { Pauses } from './pauses.ts';

export interface PauseFollowerOptions {
  readonly store: Store;
  readonly pauses: Pauses;
  readonly log: Log;
  /** Shows the pause or resume in the state of the local trigger with that name, if any. */
  mark(name: string, isPaused: boolean): void;
}

export class PauseFollower {
  readonly #options: PauseFollowerOptions;
  readonly #unwatch: () => void;
  #isReading = false;

  constructor(membership: Pick<ClusterMembership, 'watch'>, options: PauseFollowerOptions) {
    this.#options = options;
    this.#unwatch = membership.watch({ onMembers: () => void this.#read() });
  }

  end(): void {
    this.#unwatch();
  }

  async #read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const { store, pauses, mark, log } = this.#options;
    try {
      const { paused, resumed } = await pauses.follow(store);
      for (const trigger of paused) {
        mark(trigger, true);
        log.info({ trigger }, 'trigger paused on another node');
      }
      for (const trigger of resumed) {
        mark(trigger, false);
        log.info({ trigger }, 'trigger resumed on another node');
      }
    } catch {
      // The store reports that the database is unavailable.
    } finally {
      this.#isReading = false;
    }
  }
}
