// Chance that can be repeated. Every part of the soak has a generator of its own, made of the seed and its name: so what one
// part draws does not depend on how quick another one was.

import { createHash } from 'node:crypto';

export class Chance {
  #state;

  constructor(seed, name) {
    this.#state = createHash('sha256').update(`${seed}/${name}`).digest().readUInt32LE(0);
  }

  /** In 0…1, without 1 (mulberry32). */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number, both ends included. */
  between(least, most) {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  is(probability) {
    return this.next() < probability;
  }

  one(list) {
    return list[Math.floor(this.next() * list.length)];
  }

  /** One of `[weight, value]`. */
  weighted(choices) {
    let left = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, value] of choices) {
      left -= weight;
      if (left < 0) return value;
    }
    return choices.at(-1)[1];
  }
}
