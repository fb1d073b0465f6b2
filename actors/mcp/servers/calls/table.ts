// Calls in flight on one connection, by request id.
//
// The table replaces a Map. A Map that is constantly filled and emptied keeps old internal tables, and with
// them completed calls, in memory. This was a fifth of the cost of a call (docs/benchmarks.md).
//
// Ids increase and are never reused. The low bits of an id are its index in the table. An id is skipped if a
// slower call still occupies its index.

const MIN_ENTRIES = 16;

export class CallTable<Call extends { id: number }> {
  /** The length is a power of two; no more than half of the entries are occupied. */
  #entries: (Call | undefined)[] = new Array(MIN_ENTRIES).fill(undefined);
  #size = 0;
  #lastId = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds a call and assigns the `id`. */
  add(call: Call): void {
    if (this.#size * 2 >= this.#entries.length) this.#grow();
    do this.#lastId += 1;
    while (this.#at(this.#lastId) !== undefined);
    call.id = this.#lastId;
    this.#put(call);
    this.#size += 1;
  }

  /** Returns the call with this id. */
  get(id: number): Call | undefined {
    const call = this.#at(id);
    return call?.id === id ? call : undefined;
  }

  /** Removes a call. Returns false if the id is unknown. */
  delete(id: number): boolean {
    if (this.get(id) === undefined) return false;
    this.#entries[id & (this.#entries.length - 1)] = undefined;
    this.#size -= 1;
    return true;
  }

  /** Returns the calls, oldest first. */
  all(): Call[] {
    return this.#entries.filter((call) => call !== undefined).sort((a, b) => a.id - b.id);
  }

  clear(): void {
    this.#entries.fill(undefined);
    this.#size = 0;
  }

  #at(id: number): Call | undefined {
    return this.#entries[id & (this.#entries.length - 1)];
  }

  #put(call: Call): void {
    this.#entries[call.id & (this.#entries.length - 1)] = call;
  }

  /** Doubles the table. Ids with different indexes before also have different indexes afterwards. */
  #grow(): void {
    const calls = this.all();
    this.#entries = new Array(this.#entries.length * 2).fill(undefined);
    for (const call of calls) this.#put(call);
  }
}
