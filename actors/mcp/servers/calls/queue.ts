// Queue of calls to one server, oldest first. They wait until the server accepts calls (handle.ts) and has a
// free slot on a connection. With `isolation: session` the limit applies per session (A8, ARCHITECTURE.md).
// Otherwise all sessions share it: when the queue is full, the session with the most queued calls loses its
// newest call to a session with fewer (A6). All sessionless calls count as one session. Calls are removed
// before the first of them is failed, because a failed call may start the next.

import type { GatewayError } from '../../../base/errors/errors.ts';
import type { Call } from './call.ts';
import type { CallOwner } from './owner.ts';

export class CallQueue {
  readonly #calls = new Set<Call>();
  /** Oldest first. Calls may be removed during iteration. */
  readonly calls: ReadonlySet<Call> = this.#calls;
  /** Number of queued calls per session; key `undefined` for sessionless calls. */
  readonly #counts = new Map<CallOwner | undefined, number>();
  readonly #limit: number;
  readonly #isShared: boolean;

  /** `isShared`: all sessions share the limit. */
  constructor(limit: number, isShared: boolean) {
    this.#limit = limit;
    this.#isShared = isShared;
  }

  get first(): Call | undefined {
    for (const call of this.#calls) return call;
    return undefined;
  }

  isFullFor(owner: CallOwner | undefined): boolean {
    return (this.#isShared ? this.#calls.size : this.#countOf(owner)) >= this.#limit;
  }

  /**
   * Removes and returns the call that a new call of this session displaces; undefined if no session has more
   * calls.
   */
  displace(owner: CallOwner | undefined): Call | undefined {
    if (!this.#isShared) return undefined;
    // A session displaces calls only of sessions that will not have fewer calls than itself.
    let most = this.#countOf(owner) + 1;
    let largest: CallOwner | undefined;
    let isFound = false;
    for (const [other, count] of this.#counts) {
      if (count <= most) continue;
      most = count;
      largest = other;
      isFound = true;
    }
    if (!isFound) return undefined;
    let newest: Call | undefined;
    for (const call of this.#calls) if (call.owner === largest) newest = call;
    if (newest !== undefined) this.delete(newest);
    return newest;
  }

  add(call: Call): void {
    this.#calls.add(call);
    this.#counts.set(call.owner, this.#countOf(call.owner) + 1);
  }

  delete(call: Call): void {
    if (!this.#calls.delete(call)) return;
    const remaining = this.#countOf(call.owner) - 1;
    if (remaining > 0) this.#counts.set(call.owner, remaining);
    else this.#counts.delete(call.owner);
  }

  /** Removes and returns all calls. */
  empty(): readonly Call[] {
    const calls = [...this.#calls];
    this.#calls.clear();
    this.#counts.clear();
    return calls;
  }

  /** Removes the matching calls, then fails them. */
  fail(which: (call: Call) => boolean, error: GatewayError): void {
    const failing = [...this.#calls].filter(which);
    for (const call of failing) this.delete(call);
    for (const call of failing) call.fail(error);
  }

  #countOf(owner: CallOwner | undefined): number {
    return this.#counts.get(owner) ?? 0;
  }
}
