// The calls of one server that wait to be sent, oldest first: for the gate to open, or for a place on a connection.
//
// W1 (A8)  it has `places`; under session isolation so many for each session, so that none can use up what others need (A6).
// W2       those that are turned out together are out before the first of them is told: the end of one must not have a
//          connection opened for the next.

import type { GatewayError } from '../errors.ts';
import type { Call } from './call.ts';
import type { Owner } from './owner.ts';

export class WaitingRoom implements Iterable<Call> {
  readonly #calls = new Set<Call>();
  readonly #places: number;
  readonly #isShared: boolean;

  /** `isShared`: the places are for all sessions together. */
  constructor(places: number, isShared: boolean) {
    this.#places = places;
    this.#isShared = isShared;
  }

  get size(): number {
    return this.#calls.size;
  }

  /** Oldest first; calls may be taken out meanwhile. */
  [Symbol.iterator](): Iterator<Call> {
    return this.#calls.values();
  }

  /** The call that has waited longest. */
  get first(): Call | undefined {
    for (const call of this.#calls) return call;
    return undefined;
  }

  /** Whether there is no place left for a call of this session. */
  isFullFor(owner: Owner | undefined): boolean {
    if (this.#calls.size < this.#places) return false;
    if (this.#isShared) return true;
    let own = 0;
    for (const call of this.#calls) if (call.owner === owner) own += 1;
    return own >= this.#places;
  }

  add(call: Call): void {
    this.#calls.add(call);
  }

  delete(call: Call): void {
    this.#calls.delete(call);
  }

  /** Turns out all of them, and gives them. */
  empty(): readonly Call[] {
    const calls = [...this.#calls];
    this.#calls.clear();
    return calls;
  }

  /** Turns out some, and ends them. */
  fail(which: (call: Call) => boolean, error: GatewayError): void {
    const failing = [...this.#calls].filter(which);
    for (const call of failing) this.#calls.delete(call);
    for (const call of failing) call.fail(error);
  }
}
