// The last lines that a server wrote on stderr: of its living processes, and of the last one that has ended, since what
// it said before it crashed is worth most when it is gone.
//
// LW1  what a process said last stays until one that began later has said something itself, or has ended after it.
// LW2  at most one tail is kept per server, as bounded and as clean as the link gave it (A8, A9).

import type { PoolMember } from './pool-member.ts';

export class RecentStderr {
  #lines: readonly string[] = [];
  /** When whoever said that was given up, in performance.now() milliseconds. */
  #endedAt = 0;

  /** The member's process is over, or is being killed. `endedAt`: when it was given up, in performance.now() milliseconds. */
  keep({ connection }: PoolMember, endedAt: number): void {
    const lines = connection.link.stderrTail;
    if (lines.length === 0) return;
    this.#lines = lines;
    this.#endedAt = endedAt;
  }

  /** The lines of these members, and after them those that are kept, while nobody who began later has said anything. */
  with(members: Iterable<PoolMember>): readonly string[] {
    const lines: string[] = [];
    let isOutdated = false;
    for (const { connection, openedAt } of members) {
      const { stderrTail } = connection.link;
      lines.push(...stderrTail);
      if (stderrTail.length > 0 && openedAt >= this.#endedAt) isOutdated = true;
    }
    return isOutdated ? lines : [...lines, ...this.#lines];
  }
}
