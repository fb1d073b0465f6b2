// Numbers of waiting events in PostgreSQL by trigger and by conversation (../waiting-shares.ts). Counting all
// triggers is expensive, so a count is remembered, and the events that this node accepts are added to it.
// Duplicates among them make it an upper bound. Events that other nodes accept are missing until the next
// count.

import { firstNonBlocking } from '../delivery-states.ts';
import { addCount, type HolderCounts } from '../holder-counts.ts';
import { triggerHolder, triggerHolderSql } from '../waiting-shares.ts';
import { statement, type Transaction } from './database.ts';

const MAX_AGE_MS = 1_000;
/** Counts of more events are repeated less often. */
const MANY_EVENTS = 5_000;
/** Part of the time that counts of many events may use. */
const MAX_COUNTING_PART = 0.02;

type CountRow = readonly [name: string, count: number];

const countTriggers = statement<CountRow>(
  `SELECT ${triggerHolderSql} AS holder, count(*) FROM delivery WHERE state < ${firstNonBlocking} GROUP BY holder`,
);
const countKeys = statement<CountRow>(
  `SELECT key, count(*) FROM delivery WHERE key = ANY ($1) AND state < ${firstNonBlocking} GROUP BY key`,
);

export class WaitingCounts {
  #byTrigger = new Map<string, number>();
  /** By the monotonic clock. */
  #countedAt = Number.NEGATIVE_INFINITY;
  /** Minimum time until the next count. */
  #restMs = 0;

  /** Upper bounds by trigger, or undefined if they are outdated. */
  get remembered(): HolderCounts | undefined {
    return this.#ageMs > Math.max(MAX_AGE_MS, this.#restMs) ? undefined : this.#byTrigger;
  }

  /** Adds an event, as stored, that this node accepts. */
  add(event: { readonly id: string; readonly key: string }): void {
    addCount(this.#byTrigger, triggerHolder(event), 1);
  }

  /** Counts by trigger, unless a count of many events was made recently. */
  async byTrigger(transaction: Transaction): Promise<HolderCounts> {
    if (this.#ageMs < this.#restMs) return this.#byTrigger;
    const startedAt = performance.now();
    this.#byTrigger = new Map(await transaction.rows(countTriggers));
    this.#countedAt = performance.now();
    let total = 0;
    for (const count of this.#byTrigger.values()) total += count;
    this.#restMs = total > MANY_EVENTS ? (this.#countedAt - startedAt) / MAX_COUNTING_PART : 0;
    return this.#byTrigger;
  }

  async byConversation(transaction: Transaction, keys: readonly string[]): Promise<HolderCounts> {
    return new Map(await transaction.rows(countKeys, [keys]));
  }

  get #ageMs(): number {
    return performance.now() - this.#countedAt;
  }
}
