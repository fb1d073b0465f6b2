// Values that several share by a name, kept as long as somebody else keeps them: nothing has to be given back, and there are
// never more of them than there are users.

export class WeakValues<Value extends object> {
  readonly #values = new Map<string, WeakRef<Value>>();

  /** The value of that name, made where nobody has it any more. */
  of(name: string, make: () => Value): Value {
    const before = this.#values.get(name)?.deref();
    if (before !== undefined) return before;
    for (const [each, ref] of this.#values) if (ref.deref() === undefined) this.#values.delete(each);
    const value = make();
    this.#values.set(name, new WeakRef(value));
    return value;
  }
}
