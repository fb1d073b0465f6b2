// Budget whose holders have names, such as a trigger, a principal or a run (budget.ts). A single name uses up
// to half of the total (A6, ARCHITECTURE.md). An amount can belong to several holders of different kinds,
// such as a trigger and an agent: it counts for each of them, and is deducted once. A name without usage
// needs no memory.

import { Budget, Share } from './budget.ts';
import { type LimitUsage, largestHolders } from './limit-usage.ts';

export class HolderBudget {
  readonly #budget: Budget;
  readonly #shares = new Map<string, Share>();

  constructor(total: number) {
    this.#budget = new Budget(total);
  }

  get used(): number {
    return this.#budget.used;
  }

  get total(): number {
    return this.#budget.total;
  }

  get free(): number {
    return this.#budget.free;
  }

  get usage(): LimitUsage {
    const usages = [...this.#shares].map(([name, { used }]) => [name, used] as const);
    return { used: this.used, max: this.total, holders: largestHolders(usages) };
  }

  usedBy(name: string): number {
    return this.#shares.get(name)?.used ?? 0;
  }

  /** Returns true if `amount` more is available for the holder. */
  hasCapacity(amount: number, name: string): boolean {
    return this.#budget.hasCapacity(amount, this.#shares.get(name) ?? new Share());
  }

  /** Returns false, without a change, if any of the holders lacks capacity. */
  acquire(amount: number, names: readonly string[]): boolean {
    if (!names.every((name) => this.hasCapacity(amount, name))) return false;
    const [first = '', ...others] = names;
    this.#budget.acquire(amount, this.#share(first));
    for (const name of others) this.#share(name).used += amount;
    return true;
  }

  /** Acquires an amount for one holder. Returns an idempotent release; undefined without capacity. */
  hold(amount: number, name: string): (() => void) | undefined {
    const names = [name];
    if (!this.acquire(amount, names)) return undefined;
    let held = amount;
    return () => {
      this.release(held, names);
      held = 0;
    };
  }

  /** Releases an amount that was acquired for the same holders. */
  release(amount: number, names: readonly string[]): void {
    const [first = '', ...others] = names;
    this.#budget.release(amount, this.#share(first));
    for (const name of others) this.#share(name).used -= amount;
    for (const name of names) if (this.usedBy(name) === 0) this.#shares.delete(name);
  }

  #share(name: string): Share {
    let share = this.#shares.get(name);
    if (share === undefined) {
      share = new Share();
      this.#shares.set(name, share);
    }
    return share;
  }
}
