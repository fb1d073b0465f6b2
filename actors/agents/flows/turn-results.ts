// Loop results with their JSON length: the limit is checked per iteration, without serialising
// earlier results.

import { jsonLength, MAX_OUTPUT } from './output-limit.ts';

export class TurnResults {
  readonly values: unknown[] = [];
  #length = 0;

  /** Total length as one JSON array, in UTF-16 units. */
  get jsonLength(): number {
    return this.#length + Math.max(0, this.values.length - 1) + 2;
  }

  add(result: unknown): void {
    this.values.push(result);
    this.#length += jsonLength(result, MAX_OUTPUT);
  }
}
