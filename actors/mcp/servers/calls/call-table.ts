// The calls in flight on one connection, by the id each has there.
//
// Not a Map: one that is filled and emptied all the time leaves its old tables behind, each leading to the next, so that
// what they once held outlives the young collections. It cost a fifth of every call (docs/benchmarks.md).
//
// CB1  an id is counted up and never given twice. Its last digits are its place in the table; an id whose place is
//     taken by a slower call is passed over.

const MIN_PLACES = 16;

export class CallTable<Call extends { id: number }> {
  /** As many as a power of two, at most half of them taken. */
  #places: (Call | undefined)[] = new Array(MIN_PLACES).fill(undefined);
  #size = 0;
  #lastId = 0;

  get size(): number {
    return this.#size;
  }

  /** Takes a call in, and gives it its `id`. */
  add(call: Call): void {
    if (this.#size * 2 >= this.#places.length) this.#grow();
    do this.#lastId += 1;
    while (this.#at(this.#lastId) !== undefined);
    call.id = this.#lastId;
    this.#put(call);
    this.#size += 1;
  }

  /** The call of that id; undefined for any other number. */
  get(id: number): Call | undefined {
    const call = this.#at(id);
    return call?.id === id ? call : undefined;
  }

  /** False when there was none. */
  delete(id: number): boolean {
    if (this.get(id) === undefined) return false;
    this.#places[id & (this.#places.length - 1)] = undefined;
    this.#size -= 1;
    return true;
  }

  /** Oldest first. */
  all(): Call[] {
    return this.#places.filter((call) => call !== undefined).sort((a, b) => a.id - b.id);
  }

  clear(): void {
    this.#places.fill(undefined);
    this.#size = 0;
  }

  #at(id: number): Call | undefined {
    return this.#places[id & (this.#places.length - 1)];
  }

  #put(call: Call): void {
    this.#places[call.id & (this.#places.length - 1)] = call;
  }

  /** Ids that differed in their last digits still do with one digit more. */
  #grow(): void {
    const calls = this.all();
    this.#places = new Array(this.#places.length * 2).fill(undefined);
    for (const call of calls) this.#put(call);
  }
}
