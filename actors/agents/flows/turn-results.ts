// Results of the turns of one loop, with their length as JSON, so that checking the limit after a turn does not serialise
// the turns before it again.

export class TurnResults {
  readonly values: unknown[] = [];
  #length = 0;

  /** Length of all results as one JSON array, in UTF-16 units. */
  get jsonLength(): number {
    return this.#length + Math.max(0, this.values.length - 1) + 2;
  }

  add(result: unknown): void {
    this.values.push(result);
    this.#length += (JSON.stringify(result) ?? 'null').length;
  }
}
