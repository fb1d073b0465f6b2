// A Store on PostgreSQL, for one node of several: what it changes; what it reads is in records.ts. What comes often, appends
// (appends.ts) and commits, goes in groups (group-commit.ts); everything else is a transaction of its own (transactions.ts).
//
// A promise resolves after a commit only; calls that were refused have changed nothing.

import type { NewDecision } from '../approval.ts';
import { CLAIMED_BYTES, TIMERS_AT_ONCE } from '../claim-limits.ts';
import type { Undelivered } from '../delivery.ts';
import type { NewEvent } from '../event.ts';
import type { Cluster } from '../membership.ts';
import { storable } from '../record-texts.ts';
import type {
  Appended,
  AppendOptions,
  Committed,
  PutOptions,
  Store,
  Turn,
  TurnRef,
  TurnResult,
} from '../store.ts';
import { append } from './append.ts';
import { Appends } from './appends.ts';
import { decideApproval, findApproval } from './approvals.ts';
import { claim, renew } from './claim.ts';
import { commit, holdAndSettle } from './commit.ts';
import type { Database } from './database.ts';
import { bytesOf, GroupCommit } from './group-commit.ts';
import { sweepDeliveries } from './history.ts';
import { settleFree } from './mailboxes.ts';
import type { Membership } from './membership.ts';
import { discard, release, requeue, undeliver } from './operations.ts';
import { PostgresRecords } from './records.ts';
import * as shelves from './shelves.ts';
import { isAnyDue, takeDue } from './timers.ts';
import { StoreTransactions } from './transactions.ts';
import type { Wakes } from './wakes.ts';

export interface PostgresStoreOptions {
  readonly database: Database;
  readonly membership: Membership;
  readonly cluster: Cluster;
  readonly wakes: Wakes;
  readonly retentionMs: number;
  readonly rememberMs: number;
  /** Bound of events that wait or run, of all nodes. */
  readonly maxWaiting: number;
}

export class PostgresStore extends PostgresRecords implements Store {
  readonly #options: PostgresStoreOptions;
  readonly #appends: Appends;
  readonly #commits: GroupCommit<TurnResult, Committed>;

  constructor(options: PostgresStoreOptions) {
    const { database, wakes, membership, maxWaiting } = options;
    super(new StoreTransactions(database, wakes));
    this.#options = options;
    this.#appends = new Appends(database, this.transactions, membership, maxWaiting);
    this.#commits = new GroupCommit({
      name: 'commit',
      run: (results) =>
        this.transactions.runAfter(
          (statements) => holdAndSettle(statements, results),
          (transaction, settled) => commit(transaction, results, settled, CLAIMED_BYTES),
        ),
      keys: ({ key }) => [storable(key)],
      isAlone: true,
    });
  }

  now(): number {
    return this.#options.membership.now;
  }

  get cluster(): Cluster {
    return this.#options.cluster;
  }

  async append(events: readonly NewEvent[], { claimMs }: AppendOptions = {}): Promise<readonly Appended[]> {
    return this.#appends.append(events, claimMs);
  }

  async claim(max: number, leaseMs: number, keyPrefix = ''): Promise<readonly Turn[]> {
    if (max < 1) return [];
    const { epoch: node } = this.#options.membership;
    const wish = { node, maxBytes: CLAIMED_BYTES, keyPrefix: storable(keyPrefix), leaseMs };
    const some = (count: number) =>
      this.transactions.run(async (transaction) => {
        const [areTimersDue, turns] = await Promise.all([
          isAnyDue(transaction),
          claim(transaction, { ...wish, max: count }),
        ]);
        return { areTimersDue, turns };
      });
    const { areTimersDue, turns } = await some(Math.floor(max));
    if (!areTimersDue) return turns;
    await this.#appendDue();
    const left = Math.floor(max) - turns.length;
    return left > 0 ? [...turns, ...(await some(left)).turns] : turns;
  }

  renew(turns: readonly TurnRef[], leaseMs: number) {
    return this.transactions.run((transaction) => renew(transaction, turns, leaseMs));
  }

  async commit(results: readonly TurnResult[]): Promise<readonly Committed[]> {
    return Promise.all(
      results.map((result) => this.#commits.call(result, 1_000 + bytesOf(result.emit ?? []))),
    );
  }

  lease(name: string, node: string, address: string, ttlMs: number) {
    return this.transactions.run((transaction) => shelves.lease(transaction, name, node, address, ttlMs));
  }

  tick(name: string, at: number, event: NewEvent): Promise<boolean> {
    return this.#appends.tick(name, at, event);
  }

  forgetTicks(name: string, after?: number) {
    return this.transactions.run((transaction) => shelves.forgetTicks(transaction, name, after));
  }

  put(space: string, key: string, value: string, options: PutOptions = {}) {
    return this.transactions.run((transaction) => shelves.put(transaction, space, key, value, options));
  }

  delete(space: string, key: string) {
    return this.transactions.run((transaction) => shelves.remove(transaction, space, key));
  }

  requeue(id: string, options?: { readonly keepsJournal?: boolean }) {
    return this.transactions.run((transaction) => requeue(transaction, id, options));
  }

  decide(id: string, decision: NewDecision) {
    return this.transactions.run(async (transaction) => {
      const isFirst = await decideApproval(transaction, id, decision);
      const approval = await findApproval(transaction, id);
      return approval && { isFirst, approval };
    });
  }

  undeliver(keyPrefix: string, messages: readonly Undelivered[]): Promise<readonly (string | undefined)[]> {
    return this.transactions.run(async (transaction) => {
      const ids: (string | undefined)[] = [];
      for (const message of messages) ids.push(await undeliver(transaction, keyPrefix, message));
      return ids;
    });
  }

  discard(id: string, note: string, effects?: Pick<TurnResult, 'emit' | 'cancelTimers'>) {
    return this.transactions.run((transaction) => discard(transaction, id, note, effects));
  }

  async release(heldBy: string, max = Number.POSITIVE_INFINITY): Promise<number> {
    const keys = new Set<string>();
    let left = Math.floor(max);
    while (left > 0) {
      const released = await this.transactions.run((transaction) => release(transaction, heldBy, left));
      if (released.length === 0) break;
      for (const key of released) keys.add(key);
      left -= released.length;
    }
    return keys.size;
  }

  wake(onWake: () => void): () => void {
    return this.#options.wakes.listen(onWake);
  }

  async sweep(): Promise<number> {
    const { retentionMs, rememberMs } = this.#options;
    let removed = 0;
    for (let afterSeq: number | undefined = 0; afterSeq !== undefined; ) {
      const from: number = afterSeq;
      const part = await this.transactions.run((transaction) =>
        sweepDeliveries(transaction, from, transaction.now - retentionMs),
      );
      removed += part.removed;
      afterSeq = part.afterSeq;
    }
    for (let others = 1; others > 0; removed += others)
      others = await this.transactions.run((transaction) =>
        shelves.sweepShelves(transaction, retentionMs, rememberMs),
      );
    return removed;
  }

  async close(): Promise<void> {
    await Promise.all([this.#appends.close(), this.#commits.close()]);
    if (!this.transactions.close()) return;
    const { wakes, membership, database } = this.#options;
    await wakes.close();
    await membership.leave();
    await database.close();
  }

  /** Timers that are due become events, in a transaction of their own. */
  async #appendDue(): Promise<void> {
    const isMore = await this.transactions.run(async (transaction) => {
      const { events, keys } = await takeDue(transaction, TIMERS_AT_ONCE);
      await append(transaction, events);
      if (keys.length > 0) await settleFree(transaction, keys);
      return events.length === TIMERS_AT_ONCE;
    });
    if (isMore) this.#options.wakes.tell();
  }
}
