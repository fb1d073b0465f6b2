// The queue of calls that wait to be sent to one server, oldest first: for the gate to open, or for a place on a
// connection.
//
// CQ1 (A8)  it has `places`; under session isolation so many for each session, so that none can use up what others need (A6).
// CQ2       those that are turned out together are out before the first of them is told: the end of one must not have a
//          connection opened for the next.
// CQ3 (A6)  where the places are for all, one session may have them all, until others come: whoever waits most then loses its
//          newest, down to an equal part for each. Calls without a session count as one session's.

import type { GatewayError } from '../../../base/errors/errors.ts';
import type { Call } from './call.ts';
import type { CallOwner } from './call-owner.ts';

export class CallQueue {
  readonly #calls = new Set<Call>();
  /** Oldest first; calls may be taken out during an iteration. */
  readonly calls: ReadonlySet<Call> = this.#calls;
  /** How many wait of each session; of those that have none, under `undefined`. */
  readonly #counts = new Map<CallOwner | undefined, number>();
  readonly #places: number;
  readonly #isShared: boolean;

  /** `isShared`: the places are for all sessions together. */
  constructor(places: number, isShared: boolean) {
    this.#places = places;
    this.#isShared = isShared;
  }

  /** The call that has waited longest. */
  get first(): Call | undefined {
    for (const call of this.#calls) return call;
    return undefined;
  }

  /** Whether there is no place left for a call of this session. */
  isFullFor(owner: CallOwner | undefined): boolean {
    return (this.#isShared ? this.#calls.size : this.#of(owner)) >= this.#places;
  }

  /** Turns out the call that has to make room for one of this session, and gives it; undefined where none has to. */
  giveWay(owner: CallOwner | undefined): Call | undefined {
    if (!this.#isShared) return undefined;
    let most = this.#of(owner) + 1;
    let greedy: CallOwner | undefined;
    let isFound = false;
    for (const [other, count] of this.#counts) {
      if (count <= most) continue;
      most = count;
      greedy = other;
      isFound = true;
    }
    if (!isFound) return undefined;
    let newest: Call | undefined;
    for (const call of this.#calls) if (call.owner === greedy) newest = call;
    if (newest !== undefined) this.delete(newest);
    return newest;
  }

  add(call: Call): void {
    this.#calls.add(call);
    this.#counts.set(call.owner, this.#of(call.owner) + 1);
  }

  delete(call: Call): void {
    if (!this.#calls.delete(call)) return;
    const left = this.#of(call.owner) - 1;
    if (left > 0) this.#counts.set(call.owner, left);
    else this.#counts.delete(call.owner);
  }

  /** Turns out all of them, and gives them. */
  empty(): readonly Call[] {
    const calls = [...this.#calls];
    this.#calls.clear();
    this.#counts.clear();
    return calls;
  }

  /** Turns out some, and ends them. */
  fail(which: (call: Call) => boolean, error: GatewayError): void {
    const failing = [...this.#calls].filter(which);
    for (const call of failing) this.delete(call);
    for (const call of failing) call.fail(error);
  }

  #of(owner: CallOwner | undefined): number {
    return this.#counts.get(owner) ?? 0;
  }
}
