// Pool members (connections of a server) that are closing. They no longer count in the pool, but their
// processes may take time to exit, and their last stderr lines remain available (recent-stderr.ts). When
// `whenAllClosed` has resolved, or after `kill`, all of them are closed (A5, ARCHITECTURE.md).

import type { PoolMember } from './pool-member.ts';
import { RecentStderr } from './recent-stderr.ts';

export class ClosingConnections {
  readonly #closing = new Map<PoolMember, Promise<void>>();
  readonly #recentStderr = new RecentStderr();

  /** Closes the member's connection gracefully. Resolves after the cleanup. */
  close(member: PoolMember): Promise<void> {
    const endedAt = performance.now();
    const closed = member.connection.link.close().finally(() => {
      this.#closing.delete(member);
      this.#recentStderr.store(member, endedAt);
    });
    this.#closing.set(member, closed);
    return closed;
  }

  /** Kills the connection of a member for which `close` was not called, and stores its stderr lines. */
  killMember(member: PoolMember): void {
    this.#recentStderr.store(member, performance.now());
    member.connection.link.kill();
  }

  /** Resolves after the member's cleanup; immediately if it is not closing. */
  async whenClosed(member: PoolMember): Promise<void> {
    await this.#closing.get(member);
  }

  /** Resolves when the closing members are cleaned up. */
  async whenAllClosed(): Promise<void> {
    await Promise.all(this.#closing.values());
  }

  /** Kills the connections of all closing members. `close` stores their stderr lines. */
  kill(): void {
    for (const member of this.#closing.keys()) member.connection.link.kill();
  }

  /**
   * Returns the last stderr lines of the closing members, these other members, and the last exited process;
   * redacted.
   */
  recentStderrWith(others: Iterable<PoolMember>): readonly string[] {
    return this.#recentStderr.with([...this.#closing.keys(), ...others]);
  }
}
