// Routes retries of stateless requests to the process that issued their `requestState`: a server that needs
// input returns a state, and the client sends it back with the input (2026-07-28, "Multi round-trip
// requests"). A server may encrypt it with a key of its process (the SDK's servers do), so another process
// rejects it. Up to MAX_STATES states are stored, each for AFFINITY_MS (A8, ARCHITECTURE.md). A request with
// an unknown state goes to any connection.

import { createHash } from 'node:crypto';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { memberOf } from '../../jsonrpc/members.ts';
import { containsText } from '../../jsonrpc/span.ts';
import type { CallMember } from './call.ts';

export const MAX_STATES = 4096;
/** Lifetime of states in the SDK's servers. */
export const AFFINITY_MS = 600_000;

interface IssuedState {
  /** Connection to the process. */
  readonly member: CallMember;
  readonly notedAt: number;
  /** True after the first retry with this state. Later retries do not keep the process running. */
  wasReturned: boolean;
}

export class RequestStateAffinity {
  /** Issued states by digest, because a state may have any length; oldest first. */
  readonly #states = new Map<string, IssuedState>();
  readonly #now: () => number;

  /** `now` returns monotonic milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get size(): number {
    return this.#states.size;
  }

  /** Records which process issued the state in the response. */
  note(answer: Envelope, member: CallMember): void {
    // Most responses contain no state and are not parsed.
    if (!containsText(answer.message, 'requestState')) return;
    const state = answer.parse(memberOf(answer.bytes, answer.result, 'requestState'));
    if (typeof state !== 'string') return;
    const digest = digestOf(state);
    // The entry is deleted before `set`, because a Map keeps the position of an existing key.
    this.#states.delete(digest);
    this.#states.set(digest, { member, notedAt: this.#now(), wasReturned: false });
    for (const [key, issued] of this.#states) {
      if (this.#states.size <= MAX_STATES && !this.#isExpired(issued)) break;
      this.#states.delete(key);
    }
  }

  /** Returns the connection that issued the state in this request; undefined if it is missing or unknown. */
  find(request: Envelope): CallMember | undefined {
    const state = request.paramText('requestState');
    const issued = state === undefined ? undefined : this.#states.get(digestOf(state));
    if (issued === undefined || this.#isExpired(issued)) return undefined;
    issued.wasReturned = true;
    return issued.member;
  }

  /** Returns true if a client may still send its first retry with a state of this connection. */
  isAwaited(member: CallMember): boolean {
    for (const issued of this.#states.values())
      if (issued.member === member && !issued.wasReturned && !this.#isExpired(issued)) return true;
    return false;
  }

  #isExpired({ notedAt }: IssuedState): boolean {
    return this.#now() - notedAt > AFFINITY_MS;
  }
}

function digestOf(state: string): string {
  return createHash('sha256').update(state).digest('base64url');
}
