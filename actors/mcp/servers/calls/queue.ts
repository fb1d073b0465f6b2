// Queue of calls to one server, oldest first. Calls wait until the server accepts calls (handle.ts) and has a
// free slot on a connection. With `isolation: session` the limit applies per session (A8, ARCHITECTURE.md).
// Otherwise, and for calls without a session, all clients share it: when the queue is full, the client with
// the most queued calls loses its newest call to a client with fewer (A6). A client is a principal
// (authenticated identity) or a session (client-shares.ts); all other calls count as one client. Calls are
// removed before the first of them is failed, because a failed call may start the next.

import type { GatewayError } from '../../../base/errors/errors.ts';
import type { Call } from './call.ts';
import type { ClientShares } from './client-shares.ts';
import type { CallOwner } from './owner.ts';

/** Queued calls under one limit. */
class CallCounts {
  size = 0;
  readonly byClient = new Map<ClientShares | undefined, number>();

  add(client: ClientShares | undefined, count: 1 | -1): void {
    this.size += count;
    const sum = (this.byClient.get(client) ?? 0) + count;
    if (sum > 0) this.byClient.set(client, sum);
    else this.byClient.delete(client);
  }
}

type QueuedCall = Pick<Call, 'owner' | 'client'>;

export class CallQueue {
  readonly #calls = new Set<Call>();
  /** Oldest first. Calls may be removed during iteration. */
  readonly calls: ReadonlySet<Call> = this.#calls;
  /** Counts by session with a separate limit; key `undefined` for the calls that share one limit. */
  readonly #counts = new Map<CallOwner | undefined, CallCounts>();
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

  isFullFor(call: QueuedCall): boolean {
    return (this.#countsOf(call)?.size ?? 0) >= this.#limit;
  }

  /**
   * Removes and returns the call that a new call displaces; undefined if no client has more calls than the
   * client of the new call.
   */
  displace(call: QueuedCall): Call | undefined {
    const counts = this.#countsOf(call)?.byClient ?? new Map<ClientShares | undefined, number>();
    // A client displaces calls only of clients that will not have fewer calls than itself.
    let highestCount = (counts.get(call.client) ?? 0) + 1;
    // Undefined is also a key: the calls without a client.
    let largest: ClientShares | undefined;
    let isFound = false;
    for (const [client, count] of counts) {
      if (count <= highestCount) continue;
      highestCount = count;
      largest = client;
      isFound = true;
    }
    if (!isFound) return undefined;
    let newest: Call | undefined;
    for (const other of this.#calls)
      if (other.client === largest && this.#limitedBy(other) === this.#limitedBy(call)) newest = other;
    if (newest !== undefined) this.delete(newest);
    return newest;
  }

  add(call: Call): void {
    this.#calls.add(call);
    const counts = this.#countsOf(call) ?? new CallCounts();
    counts.add(call.client, 1);
    this.#counts.set(this.#limitedBy(call), counts);
  }

  delete(call: Call): void {
    if (!this.#calls.delete(call)) return;
    const counts = this.#countsOf(call);
    counts?.add(call.client, -1);
    if (counts?.size === 0) this.#counts.delete(this.#limitedBy(call));
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

  /** Returns the session whose limit applies to the call; undefined if the shared limit applies. */
  #limitedBy({ owner }: QueuedCall): CallOwner | undefined {
    return this.#isShared ? undefined : owner;
  }

  #countsOf(call: QueuedCall): CallCounts | undefined {
    return this.#counts.get(this.#limitedBy(call));
  }
}
