// A server's recent stderr lines, for operators: from running processes and from the last exited process,
// whose lines explain a crash. The lines of an exited process are kept until a newer process has written
// lines. The link limits and redacts them (A8 and A9, ARCHITECTURE.md).

import type { PoolMember } from './pool-member.ts';

export class RecentStderr {
  #lines: readonly string[] = [];
  /** Time at which that process was closed, in performance.now() milliseconds. */
  #endedAt = 0;

  /**
   * Stores a member's lines when the member has exited or is being killed. `endedAt` is in performance.now()
   * milliseconds.
   */
  store({ connection }: PoolMember, endedAt: number): void {
    const lines = connection.link.stderrTail;
    if (lines.length === 0) return;
    this.#lines = lines;
    this.#endedAt = endedAt;
  }

  /** Returns the lines of these members, and the stored lines unless a newer process has written lines. */
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
