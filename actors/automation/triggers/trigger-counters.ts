// Counters of each trigger since the start; where there are other nodes theirs are added. What happened to each event stands in the store.

import type { Outcome } from '../../events/inbox/work.ts';
import {
  type RefusedProof,
  type RefusedProofs,
  withRefused,
} from '../../platforms/webhooks/refused-proofs.ts';

export interface TriggerCounts {
  /** Events that were answered. */
  readonly handled: number;
  /** Attempts that failed. */
  readonly failed: number;
  /** When the last attempt ended, epoch ms. */
  readonly lastAt: number | undefined;
  /** Requests that proved nothing; undefined while there is none. */
  readonly refused: RefusedProofs | undefined;
}

const none: TriggerCounts = { handled: 0, failed: 0, lastAt: undefined, refused: undefined };

export class TriggerCounters {
  readonly #counts = new Map<string, { -readonly [name in keyof TriggerCounts]: TriggerCounts[name] }>();
  /** Grows with each change. */
  revision = 0;
  readonly #withOthers: (trigger: string, own: TriggerCounts) => TriggerCounts;

  /** `withOthers` adds the counts of remote nodes. */
  constructor(withOthers: (trigger: string, own: TriggerCounts) => TriggerCounts = (_, own) => own) {
    this.#withOthers = withOthers;
  }

  count(trigger: string, kind: Outcome['kind']): void {
    const counts = this.#kept(trigger);
    if (kind === 'done') counts.handled += 1;
    else if (kind === 'failed') counts.failed += 1;
    else return;
    counts.lastAt = Date.now();
  }

  countRefused(trigger: string, refused: RefusedProof): void {
    const counts = this.#kept(trigger);
    counts.refused = withRefused(counts.refused, refused);
  }

  of(trigger: string): TriggerCounts {
    return this.#withOthers(trigger, this.#counts.get(trigger) ?? none);
  }

  /** Of this process alone. */
  get own(): ReadonlyMap<string, TriggerCounts> {
    return this.#counts;
  }

  #kept(trigger: string) {
    const counts = this.#counts.get(trigger) ?? { ...none };
    this.#counts.set(trigger, counts);
    this.revision += 1;
    return counts;
  }
}
