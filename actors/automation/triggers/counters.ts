// Counters of each trigger since the start of the process, plus the counters of the other nodes of the
// cluster. The store has the details of each event.

import type { WorkOutcome } from '../../events/inbox/work.ts';
import {
  countRefused,
  type RefusedProof,
  type RefusedProofs,
} from '../../platforms/webhooks/refused-proofs.ts';

/** Events that were refused because their id is known. */
export interface Duplicates {
  readonly count: number;
  /** Last duplicate, epoch ms. */
  readonly at: number;
  /** Event id of the last duplicate. */
  readonly id: string;
}

export interface TriggerCounts {
  /** Answered events. */
  readonly handled: number;
  /** Failed attempts. */
  readonly failed: number;
  /** End of the last finished attempt, epoch ms. */
  readonly lastAt: number | undefined;
  /** Requests rejected for a missing or wrong signature, token or key; undefined while zero. */
  readonly refused: RefusedProofs | undefined;
  /** Undefined while zero. */
  readonly duplicates: Duplicates | undefined;
}

const none: TriggerCounts = {
  handled: 0,
  failed: 0,
  lastAt: undefined,
  refused: undefined,
  duplicates: undefined,
};

export class TriggerCounters {
  readonly #counts = new Map<string, { -readonly [name in keyof TriggerCounts]: TriggerCounts[name] }>();
  /** Increases with each change. */
  revision = 0;
  readonly #addRemote: (trigger: string, own: TriggerCounts) => TriggerCounts;

  /** `addRemote` adds the counts of the other nodes. */
  constructor(addRemote: (trigger: string, own: TriggerCounts) => TriggerCounts = (_, own) => own) {
    this.#addRemote = addRemote;
  }

  count(trigger: string, kind: WorkOutcome['kind']): void {
    const counts = this.#changedCounts(trigger);
    if (kind === 'done') counts.handled += 1;
    else if (kind === 'failed') counts.failed += 1;
    else return;
    counts.lastAt = Date.now();
  }

  countRefused(trigger: string, refused: RefusedProof): void {
    const counts = this.#changedCounts(trigger);
    counts.refused = countRefused(counts.refused, refused);
  }

  countDuplicate(trigger: string, id: string): void {
    const counts = this.#changedCounts(trigger);
    counts.duplicates = { count: (counts.duplicates?.count ?? 0) + 1, at: Date.now(), id };
  }

  of(trigger: string): TriggerCounts {
    return this.#addRemote(trigger, this.#counts.get(trigger) ?? none);
  }

  /** Counts of this process alone. */
  get own(): ReadonlyMap<string, TriggerCounts> {
    return this.#counts;
  }

  #changedCounts(trigger: string) {
    const counts = this.#counts.get(trigger) ?? { ...none };
    this.#counts.set(trigger, counts);
    this.revision += 1;
    return counts;
  }
}
