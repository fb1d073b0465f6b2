// Numbers of parked events in the embedded engine, in memory: all, and by holder (../parked-shares.ts). They
// are counted when the file is opened and after a failed transaction.

import type { LimitUsage } from '../../base/bounds/limit-usage.ts';
import { addCount } from '../holder-counts.ts';
import { type ParkedHolders, type ParkedUsage, parkedUsage } from '../parked-shares.ts';
import type { SqliteConnection, SqliteStatement } from './connection.ts';

type CountRow = readonly [key: string, trigger: string | null, target: string | null, count: number];

export class ParkedCounts {
  readonly #countAll: SqliteStatement<CountRow>;
  #total = 0;
  readonly #byTrigger = new Map<string, number>();
  readonly #byTarget = new Map<string, number>();
  readonly #byKey = new Map<string, number>();

  constructor(connection: SqliteConnection) {
    this.#countAll = connection.prepare(
      `SELECT key, trigger, target, count(*) FROM delivery INDEXED BY delivery_parked
       WHERE waits_for IS NOT NULL GROUP BY key, trigger, target`,
    );
    this.recount();
  }

  recount(): void {
    this.#total = 0;
    for (const counts of [this.#byTrigger, this.#byTarget, this.#byKey]) counts.clear();
    for (const [key, trigger, target, count] of this.#countAll.all([]))
      this.add({ key, trigger, target }, count);
  }

  add({ key, trigger, target }: ParkedHolders, count: number): void {
    this.#total += count;
    addCount(this.#byKey, key, count);
    if (trigger !== null) addCount(this.#byTrigger, trigger, count);
    if (target !== null) addCount(this.#byTarget, target, count);
  }

  get total(): number {
    return this.#total;
  }

  usageOf(maxParked: number): LimitUsage {
    return parkedUsage(this.#total, maxParked, this.#byTrigger, this.#byTarget);
  }

  usage({ key, trigger, target }: ParkedHolders): ParkedUsage {
    return {
      total: this.#total,
      trigger: this.#byTrigger.get(trigger ?? '') ?? 0,
      target: this.#byTarget.get(target ?? '') ?? 0,
      conversation: this.#byKey.get(key) ?? 0,
    };
  }
}
