// Follows what other nodes of a cluster pause and resume: the store is asked whenever the members were read, several times within the
// length of a membership, and nobody has to be told anything.
//
// PFW1  one question at a time; one that fails is asked again with the next reading.

import type { Log } from '../../base/errors/log.ts';
import type { ClusterMembership } from '../../store/membership.ts';
import type { Store } from '../../store/store.ts';
import type { Pauses } from './pauses.ts';

export interface PauseFollowerOptions {
  readonly store: Store;
  readonly pauses: Pauses;
  readonly log: Log;
  /** Tells the trigger, if there is one of that name here. */
  mark(name: string, isPaused: boolean): void;
}

export class PauseFollower {
  readonly #options: PauseFollowerOptions;
  readonly #unwatch: () => void;
  #isAsking = false;

  constructor(membership: Pick<ClusterMembership, 'watch'>, options: PauseFollowerOptions) {
    this.#options = options;
    this.#unwatch = membership.watch({ onMembers: () => void this.#ask() });
  }

  end(): void {
    this.#unwatch();
  }

  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const { store, pauses, mark, log } = this.#options;
    try {
      const { paused, resumed } = await pauses.follow(store);
      for (const trigger of paused) {
        mark(trigger, true);
        log.info({ trigger }, 'a trigger was paused at another node');
      }
      for (const trigger of resumed) {
        mark(trigger, false);
        log.info({ trigger }, 'a trigger was resumed at another node');
      }
    } catch {
      // The database is away; it says so by itself.
    } finally {
      this.#isAsking = false;
    }
  }
}
