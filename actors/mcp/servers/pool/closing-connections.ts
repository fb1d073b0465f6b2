// Pool members that are closing. They hold no place any more, but their processes may still be ending; and their last
// lines on stderr are kept beyond that (recent-stderr.ts).
//
// DP1 (A5)  once `everybody` has settled, or after `kill`, nothing is left of any of them.

import type { PoolMember } from './pool-member.ts';
import { RecentStderr } from './recent-stderr.ts';

export class ClosingConnections {
  readonly #leaving = new Map<PoolMember, Promise<void>>();
  readonly #recentStderr = new RecentStderr();

  /** Ends the member's connection in good order; resolves once nothing of it is left. */
  begin(member: PoolMember): Promise<void> {
    const endedAt = performance.now();
    const gone = member.connection.link.close().finally(() => {
      this.#leaving.delete(member);
      this.#recentStderr.keep(member, endedAt);
    });
    this.#leaving.set(member, gone);
    return gone;
  }

  /** Ends the member at once. */
  cut(member: PoolMember): void {
    this.#recentStderr.keep(member, performance.now());
    member.connection.link.kill();
  }

  /** Resolves once nothing of the member is left; at once where it is not on its way out. */
  async of(member: PoolMember): Promise<void> {
    await this.#leaving.get(member);
  }

  /** Resolves once nothing is left of any that is on its way out by now. */
  async everybody(): Promise<void> {
    await Promise.all(this.#leaving.values());
  }

  /** Ends at once what is still ending. */
  kill(): void {
    for (const member of this.#leaving.keys()) member.connection.link.kill();
  }

  /** The last lines on stderr of those that leave, of `staying`, and of the last one that has ended; redacted. */
  recentStderrWith(staying: Iterable<PoolMember>): readonly string[] {
    return this.#recentStderr.with([...this.#leaving.keys(), ...staying]);
  }
}
