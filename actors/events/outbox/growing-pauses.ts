// How long to stay away from a platform that says "too much" and not for how long: as `spec.retry` has it, each time longer,
// until something is taken again. What is deferred counts no attempts, so they are counted here.

import type { TriggerRetry } from '../../../config/resources/triggers/trigger-of.ts';
import { forgetOldest } from '../../base/bounds/forget-oldest.ts';

const MAX_NAMES = 10_000;

export class GrowingPauses {
  /** Refusals in a row by the name of what was refused; one that was forgotten begins anew. */
  readonly #refusals = new Map<string, number>();

  /** Milliseconds until `name` may be tried again, after one more refusal. */
  next(name: string, { min_backoff_seconds, max_backoff_seconds, factor }: TriggerRetry): number {
    const before = this.#refusals.get(name) ?? 0;
    this.#refusals.delete(name);
    this.#refusals.set(name, before + 1);
    forgetOldest(this.#refusals, MAX_NAMES);
    return 1000 * Math.min(max_backoff_seconds, min_backoff_seconds * factor ** before);
  }

  end(name: string): void {
    // Where nothing was refused, which is nearly always, there is nothing to look for.
    if (this.#refusals.size > 0) this.#refusals.delete(name);
  }
}
