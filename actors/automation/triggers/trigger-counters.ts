// Counters of each trigger since the start. What happened to each event stands in the store.

import type { Outcome } from '../../inbox/work.ts';

export interface TriggerCounts {
  /** Events that were answered. */
  readonly handled: number;
  /** Attempts that failed. */
  readonly failed: number;
  /** When the last attempt ended, epoch ms. */
  readonly lastAt: number | undefined;
}

const none: TriggerCounts = { handled: 0, failed: 0, lastAt: undefined };

export class TriggerCounters {
  readonly #counts = new Map<string, { handled: number; failed: number; lastAt: number | undefined }>();

  count(trigger: string, kind: Outcome['kind']): void {
    let counts = this.#counts.get(trigger);
    if (counts === undefined) {
      counts = { ...none };
      this.#counts.set(trigger, counts);
    }
    if (kind === 'done') counts.handled += 1;
    else if (kind === 'failed') counts.failed += 1;
    else return;
    counts.lastAt = Date.now();
  }

  of(trigger: string): TriggerCounts {
    return this.#counts.get(trigger) ?? none;
  }
}
