// Shared values by name, referenced weakly: a value exists as long as a user references it, and needs no
// explicit release.

const MIN_SWEEP_SIZE = 16;

export class WeakValues<Value extends object> {
  readonly #values = new Map<string, WeakRef<Value>>();
  /** Size at which names without a value are removed; twice the size after the last removal. */
  #sweepSize = MIN_SWEEP_SIZE;

  /** Returns the value of the name; creates it if no user references one. */
  getOrCreate(name: string, make: () => Value): Value {
    const before = this.#values.get(name)?.deref();
    if (before !== undefined) return before;
    if (this.#values.size >= this.#sweepSize) this.#sweep();
    const value = make();
    this.#values.set(name, new WeakRef(value));
    return value;
  }

  #sweep(): void {
    for (const [name, ref] of this.#values) if (ref.deref() === undefined) this.#values.delete(name);
    this.#sweepSize = Math.max(MIN_SWEEP_SIZE, 2 * this.#values.size);
  }
}
