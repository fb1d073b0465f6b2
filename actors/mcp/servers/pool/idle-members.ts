// Finds private connections (pool members) that had no calls for the idle timeout, to close them. The server
// itself keeps running for other sessions (docs/internals.md, isolation: session).

import type { PoolMember } from './pool-member.ts';

export interface IdleMembersOptions {
  /** 0 disables the check. */
  readonly idleTimeoutMs: number;
  readonly members: () => Iterable<PoolMember>;
  readonly isBusy: (member: PoolMember) => boolean;
  readonly onIdle: (member: PoolMember) => void;
}

/** Limits of the interval between checks, otherwise a quarter of the idle timeout. */
const MIN_ROUND_MS = 20;
const MAX_ROUND_MS = 5_000;

export class IdleMembers {
  readonly #options: IdleMembersOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: IdleMembersOptions) {
    this.#options = options;
  }

  start(): void {
    const { idleTimeoutMs } = this.#options;
    if (idleTimeoutMs === 0) return;
    const roundMs = Math.min(MAX_ROUND_MS, Math.max(MIN_ROUND_MS, idleTimeoutMs / 4));
    this.#timer ??= setInterval(() => this.#round(), roundMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #round(): void {
    const { idleTimeoutMs, members, isBusy, onIdle } = this.#options;
    const since = performance.now() - idleTimeoutMs;
    for (const member of [...members()]) {
      if (member.lastUsedAt <= since && !isBusy(member)) onIdle(member);
    }
  }
}
