// Calls of modern clients (stateless, 2026-07-28) that are suspended until the client provides the input that
// a legacy server requests. The client receives the input requests as a result, with a random token that its
// next request returns. A token is valid once, for the same request of the same verified sender. Up to
// MAX_SUSPENDED calls are suspended, each for MAX_PAUSE_MS; their data share MAX_SUSPENDED_BYTES (A8,
// ARCHITECTURE.md). At a limit, the client with the most suspended calls loses its oldest one, which is
// usually abandoned (A6). A client is a verified sender (client-shares.ts); all others count as one client.

import { createHash, randomBytes } from 'node:crypto';
import { Budget, Share } from '../../../base/bounds/budget.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { membersOf } from '../../jsonrpc/members.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import type { ClientShares } from '../../servers/calls/client-shares.ts';
import { MAX_PAUSE_MS } from '../../servers/calls/limits.ts';
import type { ClientRequest } from '../routed-request.ts';

export const MAX_SUSPENDED = 1024;
export const MAX_SUSPENDED_BYTES = 64 * 1024 * 1024;

export interface Suspendable {
  /** Id of the server that executes the call. */
  readonly server: string;
  readonly client?: ClientShares | undefined;
  /** Digest of the first request (`requestDigest`). */
  readonly digest: string;
  /** Size of the request in memory, in bytes. */
  readonly bytes: number;
  /** Continues the call with the client's new request. */
  resume(request: ClientRequest): void;
  /** Cancels the call, because the client did not answer in time. */
  expire(): void;
}

interface Suspension {
  readonly call: Suspendable;
  readonly timer: NodeJS.Timeout;
  readonly share: Share;
}

export class SuspendedCalls {
  readonly #suspensions = new Map<string, Suspension>();
  /** Share of the byte budget per suspended call. */
  readonly #shares = new Map<Suspendable, Share>();
  readonly #bytes = new Budget(MAX_SUSPENDED_BYTES);
  #isClosed = false;

  get size(): number {
    return this.#suspensions.size;
  }

  /** Suspends a call and returns its token (`requestState`); undefined after `close`. */
  suspend(call: Suspendable): string | undefined {
    if (this.#isClosed) return undefined;
    const share = new Share();
    if (this.#suspensions.size >= MAX_SUSPENDED) this.#expireOne();
    // A request larger than the whole budget is suspended too, when no other suspended call remains.
    while (!this.#bytes.acquire(call.bytes, share) && this.#suspensions.size > 0) this.#expireOne();
    this.#shares.set(call, share);
    const token = randomBytes(24).toString('base64url');
    const timer = setTimeout(() => this.#expire(token), MAX_PAUSE_MS).unref();
    this.#suspensions.set(token, { call, timer, share });
    return token;
  }

  /**
   * Reserves bytes for a suspended call's data until the call resumes or expires. Returns false if the budget
   * is exhausted.
   */
  reserve(call: Suspendable, bytes: number): boolean {
    const share = this.#shares.get(call);
    return share !== undefined && this.#bytes.acquire(bytes, share);
  }

  /** Expires the oldest suspended call of the client with the most of them. */
  #expireOne(): void {
    const clients = new Map<ClientShares | undefined, { readonly oldest: string; count: number }>();
    for (const [token, { call }] of this.#suspensions) {
      const entry = clients.get(call.client) ?? { oldest: token, count: 0 };
      entry.count += 1;
      clients.set(call.client, entry);
    }
    const [largest] = [...clients.values()].sort((a, b) => b.count - a.count);
    if (largest !== undefined) this.#expire(largest.oldest);
  }

  /** Releases the suspension's resources. */
  #release({ call, timer, share }: Suspension): void {
    clearTimeout(timer);
    this.#shares.delete(call);
    this.#bytes.release(share.used, share);
  }

  #expire(token: string): void {
    const suspension = this.#suspensions.get(token);
    if (suspension === undefined) return;
    this.#suspensions.delete(token);
    this.#release(suspension);
    suspension.call.expire();
  }

  /** Returns true if the token (`requestState`) is the one of a suspended call. */
  has(state: string): boolean {
    return this.#suspensions.has(state);
  }

  /** Removes and returns the call for a token. Throws RpcFault −32602 for invalid tokens. */
  take(state: string, server: string, envelope: Envelope, principal?: string): Suspendable {
    const suspension = this.#suspensions.get(state);
    if (
      suspension === undefined ||
      suspension.call.server !== server ||
      suspension.call.digest !== requestDigest(envelope, principal)
    ) {
      throw unknownState(envelope.rawId);
    }
    this.#suspensions.delete(state);
    this.#release(suspension);
    return suspension.call;
  }

  /** Expires all suspended calls and rejects new suspensions. */
  close(): void {
    this.#isClosed = true;
    const suspensions = [...this.#suspensions.values()];
    this.#suspensions.clear();
    for (const suspension of suspensions) {
      this.#release(suspension);
      suspension.call.expire();
    }
  }
}

/** Returns the error for invalid tokens. */
export function unknownState(rawId: string): RpcFault {
  return new RpcFault(
    rpcCodes.invalidParams,
    'requestState is unknown, expired, displaced by newer ones, already used, or of another request; ' +
      'send the request again',
    rawId,
  );
}

/** Members of `params` that differ between a request and its retry. */
const retryMembers = new Set(['_meta', 'inputResponses', 'requestState']);

/**
 * Returns a digest of principal, method and parameters, independent of member order and format. A retry has
 * the digest of the first request.
 */
export function requestDigest(envelope: Envelope, principal?: string): string {
  const { bytes, params, method } = envelope;
  const members = membersOf(bytes, params)
    .filter(({ key }) => !retryMembers.has(key))
    .map(({ key, value }) => [key, envelope.parse(value)]);
  const canonical = JSON.stringify([principal, method, sortKeys(Object.fromEntries(members))]);
  return createHash('sha256').update(canonical).digest('base64url');
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, member]) => [key, sortKeys(member)]));
}
