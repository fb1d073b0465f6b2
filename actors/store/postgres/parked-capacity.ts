// Limits the number of parked events in the cluster (`maxParked`), with shares (../parked-shares.ts).
//
// Counting is expensive, so each node remembers counts, and adds the events that it has parked since. A
// count is repeated after a second, or later if it was slow. Several nodes can therefore exceed a share by
// the events that they park meanwhile.

import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import type { LimitUsage } from '../../base/bounds/limit-usage.ts';
import { canPark, canParkAny, type ParkedHolders, type ParkedUsage, parkedUsage } from '../parked-shares.ts';
import { type PostgresStatement, statement, type Transaction } from './database.ts';

const COUNTED_EVERY_MS = 1_000;
/** A count may use this part of the time. */
const MAX_COUNTING_PART = 0.02;
const MAX_REMEMBERED_COUNTS = 1_000;

const countOf = (column: string) =>
  statement<readonly [number]>(
    `SELECT count(*) FROM delivery WHERE waits_for IS NOT NULL AND ${column} = $1`,
  );
const countAll = statement<readonly [number]>('SELECT count(*) FROM delivery WHERE waits_for IS NOT NULL');
const countTrigger = countOf('trigger');
const countTarget = countOf('target');
const countKey = countOf('key');
const countsBy = (column: string) =>
  statement<readonly [name: string, count: number]>(
    `SELECT ${column}, count(*) FROM delivery WHERE waits_for IS NOT NULL AND ${column} IS NOT NULL GROUP BY ${column}`,
  );
const countTriggers = countsBy('trigger');
const countTargets = countsBy('target');

interface RememberedCount {
  count: number;
  /** By the monotonic clock. */
  readonly countedAt: number;
  readonly tookMs: number;
}

/** Counts of the holders of a parked event; only of all events if these are few. */
type UsedCounts = Partial<Readonly<Record<keyof ParkedUsage, RememberedCount>>>;

export class ParkedCapacity {
  readonly max: number;
  /** By statement and holder. */
  readonly #counts = new Map<string, RememberedCount>();
  /** Usage for statistics. Times by the monotonic clock. */
  #lastUsage: { readonly usage: LimitUsage; readonly countedAt: number; readonly tookMs: number } | undefined;

  constructor(maxParked: number) {
    this.max = maxParked;
  }

  /** Returns true if the event may be parked, and counts it. */
  async acquire(transaction: Transaction, holders: ParkedHolders): Promise<boolean> {
    // Before a refusal, counts are repeated: other events were possibly woken since.
    for (const maxAgeMs of [COUNTED_EVERY_MS, 0]) {
      const counts = await this.#countsOf(transaction, holders, maxAgeMs);
      if (!this.#hasCapacity(counts)) continue;
      for (const each of Object.values(counts)) each.count += 1;
      return true;
    }
    return false;
  }

  /** Counts the holders, unless the last such count was expensive and recent. */
  async usage(transaction: Transaction): Promise<LimitUsage> {
    const now = performance.now();
    const last = this.#lastUsage;
    if (last !== undefined && now < last.countedAt + last.tookMs / MAX_COUNTING_PART) return last.usage;
    const [row] = await transaction.rows(countAll);
    const byTrigger = new Map(await transaction.rows(countTriggers));
    const byTarget = new Map(await transaction.rows(countTargets));
    const usage = parkedUsage(row?.[0] ?? 0, this.max, byTrigger, byTarget);
    const countedAt = performance.now();
    this.#lastUsage = { usage, countedAt, tookMs: countedAt - now };
    return usage;
  }

  async #countsOf(
    transaction: Transaction,
    { key, trigger, target }: ParkedHolders,
    maxAgeMs: number,
  ): Promise<UsedCounts> {
    const total = await this.#count(transaction, maxAgeMs, countAll);
    if (canParkAny(total.count, this.max)) return { total };
    return {
      total,
      conversation: await this.#count(transaction, maxAgeMs, countKey, key),
      ...(trigger !== null && { trigger: await this.#count(transaction, maxAgeMs, countTrigger, trigger) }),
      ...(target !== null && { target: await this.#count(transaction, maxAgeMs, countTarget, target) }),
    };
  }

  #hasCapacity({ total, trigger, target, conversation }: UsedCounts): boolean {
    const usage = {
      total: total?.count ?? 0,
      trigger: trigger?.count ?? 0,
      target: target?.count ?? 0,
      conversation: conversation?.count ?? 0,
    };
    return canParkAny(usage.total, this.max) || canPark(usage, this.max);
  }

  async #count(
    transaction: Transaction,
    maxAgeMs: number,
    query: PostgresStatement<readonly [number]>,
    holder?: string,
  ): Promise<RememberedCount> {
    const name = `${query.name} ${holder ?? ''}`;
    const before = this.#counts.get(name);
    const startedAt = performance.now();
    if (before !== undefined) {
      const validMs = Math.max(maxAgeMs, before.tookMs / MAX_COUNTING_PART);
      if (startedAt < before.countedAt + validMs) return before;
    }
    const [row] = await transaction.rows(query, holder === undefined ? [] : [holder]);
    const countedAt = performance.now();
    const counted = { count: row?.[0] ?? 0, countedAt, tookMs: countedAt - startedAt };
    this.#counts.delete(name);
    this.#counts.set(name, counted);
    deleteOldest(this.#counts, MAX_REMEMBERED_COUNTS);
    return counted;
  }
}
