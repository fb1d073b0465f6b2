// Limits the explanations to people whose button presses or reactions on an approval request are rejected:
// repeated presses must not fill a chat or exhaust its rate limit. Each person gets a first explanation per
// request, and repeated explanations at least a minute apart. All repeated explanations share a limit per
// minute. A repeated call for the same event returns the same result.

import { addTimestamp, nextAllowedAt, type WindowLimit } from '../../../libs/rest/sliding-window.ts';
import { deleteOldest } from '../../base/bounds/delete-oldest.ts';

const MIN_INTERVAL_MS = 60_000;
/** Limit of repeated explanations for all persons. */
const REPEAT_LIMIT: WindowLimit = { most: 30, ms: 60_000 };
/** A removed entry causes one extra explanation, at worst. */
const MAX_ENTRIES = 10_000;

interface Explanation {
  readonly event: string;
  readonly at: number;
}

export class RefusalLimit {
  readonly #now: () => number;
  /** By person and approval, most recent last. */
  readonly #explanations = new Map<string, Explanation>();
  /** Times of repeated explanations. */
  #repeats: readonly number[] = [];

  /** `now` returns monotonic milliseconds. */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** Returns true if the person gets an explanation for this event, and counts it. */
  mayExplain(person: string, approval: string, event: string): boolean {
    const name = JSON.stringify([person, approval]);
    const before = this.#explanations.get(name);
    const now = this.#now();
    if (before?.event === event) return true;
    if (before !== undefined) {
      if (now - before.at < MIN_INTERVAL_MS || nextAllowedAt(this.#repeats, REPEAT_LIMIT) > now) return false;
      this.#repeats = addTimestamp(this.#repeats, now, REPEAT_LIMIT);
    }
    this.#explanations.delete(name);
    this.#explanations.set(name, { event, at: now });
    deleteOldest(this.#explanations, MAX_ENTRIES);
    return true;
  }
}
