// The calls of modern clients that are suspended until their client has answered. The client gets the question as the result of
// its request, and answers with a new request. A random token of the gateway connects the two: it contains no data, cannot be
// guessed, and can be used once.
//
// PK1  a token resumes the call it was given for, and only for the same request of the same principal: another tool, or other
//      arguments, are refused.
// PK2  at most MAX_SUSPENDED calls are suspended at a time, each for at most SUSPEND_MS (A8). When there is no place left, the
//      call that has been suspended longest is ended: most of those were abandoned (A6).
// PK3  what suspended calls keep (requests, messages, answers) is at most MAX_SUSPENDED_BYTES together, except for one request
//      larger than half of that; here, too, the call that has been suspended longest is ended.

import { createHash, randomBytes } from 'node:crypto';
import { Budget, Share } from '../../../base/bounds/budget.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { membersOf } from '../../jsonrpc/members.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import type { ClientRequest } from '../routed-request.ts';

export const MAX_SUSPENDED = 1024;
export const SUSPEND_MS = 600_000;
export const MAX_SUSPENDED_BYTES = 64 * 1024 * 1024;

export interface Suspendable {
  /** The server of the call. */
  readonly server: string;
  /** The request it began with, as `requestDigest` gives it. */
  readonly digest: string;
  /** The size of its request in memory. */
  readonly bytes: number;
  /** The client has come back. */
  resume(request: ClientRequest): void;
  /** The client has not come back in time. */
  expire(): void;
}

interface Place {
  readonly call: Suspendable;
  readonly timer: NodeJS.Timeout;
  readonly share: Share;
}

export class SuspendedCalls {
  readonly #places = new Map<string, Place>();
  /** The bytes of the suspended calls, for `keep`. */
  readonly #shares = new Map<Suspendable, Share>();
  readonly #bytes = new Budget(MAX_SUSPENDED_BYTES);
  #isClosed = false;

  get size(): number {
    return this.#places.size;
  }

  /** Suspends a call; gives the `requestState` that leads back to it. Undefined once there is no way back. */
  suspend(call: Suspendable): string | undefined {
    if (this.#isClosed) return undefined;
    const share = new Share();
    if (this.#places.size >= MAX_SUSPENDED) this.#expireOldest();
    while (!this.#bytes.take(call.bytes, share) && this.#places.size > 0) this.#expireOldest();
    this.#shares.set(call, share);
    const name = randomBytes(24).toString('base64url');
    const timer = setTimeout(() => this.#expire(name), SUSPEND_MS).unref();
    this.#places.set(name, { call, timer, share });
    return name;
  }

  /** Takes room for what a suspended call keeps beside its request, until it leaves its place; false when there is none. */
  keep(call: Suspendable, bytes: number): boolean {
    const share = this.#shares.get(call);
    return share !== undefined && this.#bytes.take(bytes, share);
  }

  #expireOldest(): void {
    const [oldest] = this.#places.keys();
    if (oldest !== undefined) this.#expire(oldest);
  }

  /** Removes the call from its place. */
  #leave({ call, timer, share }: Place): void {
    clearTimeout(timer);
    this.#shares.delete(call);
    this.#bytes.give(share.held, share);
  }

  #expire(name: string): void {
    const place = this.#places.get(name);
    if (place === undefined) return;
    this.#places.delete(name);
    this.#leave(place);
    place.call.expire();
  }

  has(state: string): boolean {
    return this.#places.has(state);
  }

  /** Takes the call a retry is for out of its place. Throws RpcFault −32602 when the retry is for none. */
  take(state: string, server: string, envelope: Envelope, principal?: string): Suspendable {
    const place = this.#places.get(state);
    if (
      place === undefined ||
      place.call.server !== server ||
      place.call.digest !== requestDigest(envelope, principal)
    ) {
      throw unknownState(envelope.rawId);
    }
    this.#places.delete(state);
    this.#leave(place);
    return place.call;
  }

  /** Ends all of them, and takes no more: the gateway is stopping. */
  close(): void {
    this.#isClosed = true;
    const places = [...this.#places.values()];
    this.#places.clear();
    for (const place of places) {
      this.#leave(place);
      place.call.expire();
    }
  }
}

/** Nobody waits for the retry any more. */
export function unknownState(rawId: string): RpcFault {
  return new RpcFault(
    rpcCodes.invalidParams,
    'requestState is unknown, has expired or given way to newer ones, was used before, or belongs to another request; ' +
      'send the request anew',
    rawId,
  );
}

const ofTheRetryOnly = new Set(['_meta', 'inputResponses', 'requestState']);

/** What a request and its retry have in common: who sends it, the method and the parameters, whatever their order and layout. */
export function requestDigest(envelope: Envelope, principal?: string): string {
  const { bytes, params, method } = envelope;
  const members = membersOf(bytes, params)
    .filter(({ key }) => !ofTheRetryOnly.has(key))
    .map(({ key, value }) => [key, envelope.parse(value)]);
  const canonical = JSON.stringify([principal, method, ordered(Object.fromEntries(members))]);
  return createHash('sha256').update(canonical).digest('base64url');
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, member]) => [key, ordered(member)]));
}
