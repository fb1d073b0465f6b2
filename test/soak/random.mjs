// Reproducible random numbers. Each part of the soak has a generator, derived from the seed and the name of
// the part. The sequence therefore does not depend on the speed of other parts.

import { createHash } from 'node:crypto';

export class Chance {
  #state;

  constructor(seed, name) {
    this.#state = createHash('sha256').update(`${seed}/${name}`).digest().readUInt32LE(0);
  }

  /** Returns a number from 0 to 1, excluding 1 (mulberry32). */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** Returns an integer from `least` to `most`, inclusive. */
  between(least, most) {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  is(probability) {
    return this.next() < probability;
  }

  one(list) {
    return list[Math.floor(this.next() * list.length)];
  }

  /** Selects a value from `[weight, value]` pairs. */
  weighted(choices) {
    let left = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, value] of choices) {
      left -= weight;
      if (left < 0) return value;
    }
    return choices.at(-1)[1];
  }
}
