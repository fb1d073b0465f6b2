// Affinity of retries to processes. A modern server that wants input answers with a `requestState` and gets it back in
// the retry. It may have sealed it with a key of its process (the SDK's servers do), so that only the process which made
// the state understands the retry, and only while it lives (2026-07-28, "Multi round-trip requests").
//
// RS1  at most MAX_STATES are remembered, each for AFFINITY_MS (A8). A state that was forgotten, or whose connection is
//     gone, goes to any connection: the server then says itself that it does not know it.

import { createHash } from 'node:crypto';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { memberOf } from '../../jsonrpc/members.ts';
import { holds } from '../../jsonrpc/span.ts';
import type { CallMember } from './call.ts';

export const MAX_STATES = 4096;
/** As long as the SDK's servers take their own states back. */
export const AFFINITY_MS = 600_000;

interface Home {
  readonly member: CallMember;
  readonly notedAt: number;
  /** A retry has brought it back. It may come once more, but nobody waits for that. */
  wasBack: boolean;
}

export class RequestStateAffinity {
  /** By digest, since a state may be of any length; oldest first. */
  readonly #homes = new Map<string, Home>();
  readonly #now: () => number;

  /** `now` gives milliseconds that never go back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get size(): number {
    return this.#homes.size;
  }

  /** Remembers where the answer came from, if it hands out a state. */
  note(answer: Envelope, member: CallMember): void {
    // Most answers hand out none, and need not be looked through.
    if (!holds(answer.message, 'requestState')) return;
    const state = answer.parse(memberOf(answer.bytes, answer.result, 'requestState'));
    if (typeof state !== 'string') return;
    const digest = digestOf(state);
    // Taken out first: what was noted last stands last.
    this.#homes.delete(digest);
    this.#homes.set(digest, { member, notedAt: this.#now(), wasBack: false });
    for (const [key, home] of this.#homes) {
      if (this.#homes.size <= MAX_STATES && !this.#isOver(home)) break;
      this.#homes.delete(key);
    }
  }

  /** Where the state of this request came from; undefined when it carries none, or none that is known. */
  find(request: Envelope): CallMember | undefined {
    const state = request.paramText('requestState');
    const home = state === undefined ? undefined : this.#homes.get(digestOf(state));
    if (home === undefined || this.#isOver(home)) return undefined;
    home.wasBack = true;
    return home.member;
  }

  /** Whether a state of this connection may still come back for the first time. */
  isAwaited(member: CallMember): boolean {
    for (const home of this.#homes.values())
      if (home.member === member && !home.wasBack && !this.#isOver(home)) return true;
    return false;
  }

  #isOver({ notedAt }: Home): boolean {
    return this.#now() - notedAt > AFFINITY_MS;
  }
}

function digestOf(state: string): string {
  return createHash('sha256').update(state).digest('base64url');
}
