// Exponential backoff for rate limits without `Retry-After`, with the trigger's retry settings
// (`spec.retry`). Rate-limited messages count no attempts, so the consecutive refusals are counted here.

import type { TriggerRetry } from '../../../config/resources/triggers/trigger-of.ts';
import { deleteOldest } from '../../base/bounds/delete-oldest.ts';

const MAX_NAMES = 10_000;

export class GrowingPauses {
  /**
   * Consecutive refusals by the name of the rate limit, such as an account or a destination. A forgotten name
   * starts at zero.
   */
  readonly #refusals = new Map<string, number>();

  /** Records a refusal for `name`, and returns the milliseconds until the next attempt. */
  next(name: string, { min_backoff_seconds, max_backoff_seconds, factor }: TriggerRetry): number {
    const before = this.#refusals.get(name) ?? 0;
    this.#refusals.delete(name);
    this.#refusals.set(name, before + 1);
    deleteOldest(this.#refusals, MAX_NAMES);
    return 1000 * Math.min(max_backoff_seconds, min_backoff_seconds * factor ** before);
  }

  /** Resets the backoff for `name` when the platform accepts a message. */
  end(name: string): void {
    if (this.#refusals.size > 0) this.#refusals.delete(name);
  }
}
