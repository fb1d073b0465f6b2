// Shared values by name, referenced weakly: a value exists as long as a user references it, and needs no
// explicit release.

export class WeakValues<Value extends object> {
  readonly #values = new Map<string, WeakRef<Value>>();

  /** Returns the value of the name; creates it if no user references one. */
  getOrCreate(name: string, make: () => Value): Value {
    const before = this.#values.get(name)?.deref();
    if (before !== undefined) return before;
    for (const [each, ref] of this.#values) if (ref.deref() === undefined) this.#values.delete(each);
    const value = make();
    this.#values.set(name, new WeakRef(value));
    return value;
  }
}
