// Implements Store on PostgreSQL (rules S1–S16 in ../store.ts), for a node of a cluster. This file has the
// write operations, read-operations.ts the read operations. The frequent operations, appends
// (append-calls.ts) and commits, run in groups (group-commit.ts); every other operation is a separate
// transaction (transactions.ts). A promise resolves when the change is committed; a rejected call has changed
// nothing.

import type { KeyUse, NewAccessKey, ReplacedKey } from '../../identity/access-keys/access-key.ts';
import type { NewDecision } from '../approval.ts';
import { MAX_CLAIM_BYTES, MAX_CLAIM_TIMERS } from '../claim-limits.ts';
import type { EventUsage, Undelivered } from '../delivery.ts';
import type { NewEvent } from '../event.ts';
import type { Cluster } from '../membership.ts';
import { toStorableText } from '../record-texts.ts';
import type {
  AppendOptions,
  AppendOutcome,
  Committed,
  PutOptions,
  Store,
  Turn,
  TurnRef,
  TurnResult,
} from '../store.ts';
import { addAccessKey, noteKeyUses, revokeAccessKey } from './access-keys.ts';
import { append } from './append.ts';
import { Appends } from './append-calls.ts';
import { decideApproval, findApproval } from './approvals.ts';
import { claim, renew } from './claim.ts';
import { commit, lockAndWriteResults } from './commit.ts';
import type { Database } from './database.ts';
import { bytesOf, GroupCommit } from './group-commit.ts';
import { sweepDeliveries } from './history.ts';
import { scheduleUnclaimed } from './mailboxes.ts';
import type { Membership } from './membership.ts';
import { discard, release, requeue, undeliver } from './operations.ts';
import { ParkedCapacity } from './parked-capacity.ts';
import { PostgresRecords } from './read-operations.ts';
import { isAnyDue, takeDue } from './timers.ts';
import { StoreTransactions } from './transactions.ts';
import * as values from './values-and-leases.ts';
import type { Wakes } from './wakes.ts';

export interface PostgresStoreOptions {
  readonly database: Database;
  readonly membership: Membership;
  readonly cluster: Cluster;
  readonly wakes: Wakes;
  readonly retentionMs: number;
  readonly snapshotRetentionMs: number;
  /** Maximum number of unfinished events, cluster-wide. */
  readonly maxWaiting: number;
  /** Maximum number of parked events, cluster-wide. */
  readonly maxParked: number;
}

export class PostgresStore extends PostgresRecords implements Store {
  readonly #options: PostgresStoreOptions;
  readonly #appends: Appends;
  readonly #parked: ParkedCapacity;
  readonly #commits: GroupCommit<TurnResult, Committed>;

  constructor(options: PostgresStoreOptions) {
    const { database, wakes, membership, maxWaiting, maxParked } = options;
    super(new StoreTransactions(database, wakes));
    this.#options = options;
    this.#appends = new Appends(database, this.transactions, membership, maxWaiting);
    const parked = new ParkedCapacity(maxParked);
    this.#parked = parked;
    const limits = { maxBytes: MAX_CLAIM_BYTES, parked };
    this.#commits = new GroupCommit({
      name: 'commit',
      run: (results) =>
        this.transactions.runAfter(
          (statements) => lockAndWriteResults(statements, results),
          (transaction, settled) => commit(transaction, results, settled, limits),
        ),
      keys: ({ key }) => [toStorableText(key)],
      hasDistinctKeys: true,
    });
  }

  now(): number {
    return this.#options.membership.now;
  }

  steady(): number {
    return this.#options.membership.steady;
  }

  get cluster(): Cluster {
    return this.#options.cluster;
  }

  async usage(): Promise<EventUsage> {
    const waiting = await this.#appends.usage();
    return { waiting, parked: await this.transactions.run((transaction) => this.#parked.usage(transaction)) };
  }

  async append(
    events: readonly NewEvent[],
    { claimMs }: AppendOptions = {},
  ): Promise<readonly AppendOutcome[]> {
    return this.#appends.append(events, claimMs);
  }

  async claim(max: number, leaseMs: number, keyPrefix = ''): Promise<readonly Turn[]> {
    if (max < 1) return [];
    const { epoch: node } = this.#options.membership;
    const request = { node, maxBytes: MAX_CLAIM_BYTES, keyPrefix: toStorableText(keyPrefix), leaseMs };
    const claimSome = (count: number) =>
      this.transactions.run(async (transaction) => {
        const [areTimersDue, turns] = await Promise.all([
          isAnyDue(transaction),
          claim(transaction, { ...request, max: count }),
        ]);
        return { areTimersDue, turns };
      });
    const { areTimersDue, turns } = await claimSome(Math.floor(max));
    if (!areTimersDue) return turns;
    await this.#appendDue();
    const remaining = Math.floor(max) - turns.length;
    return remaining > 0 ? [...turns, ...(await claimSome(remaining)).turns] : turns;
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
    return this.transactions.run((transaction) => values.lease(transaction, name, node, address, ttlMs));
  }

  tick(name: string, at: number, event: NewEvent): Promise<boolean> {
    return this.#appends.tick(name, at, event);
  }

  forgetTicks(name: string, after?: number) {
    return this.transactions.run((transaction) => values.forgetTicks(transaction, name, after));
  }

  put(space: string, key: string, value: string, options: PutOptions = {}) {
    return this.transactions.run((transaction) => values.put(transaction, space, key, value, options));
  }

  delete(space: string, key: string) {
    return this.transactions.run((transaction) => values.remove(transaction, space, key));
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
    let remaining = Math.floor(max);
    while (remaining > 0) {
      const released = await this.transactions.run((transaction) => release(transaction, heldBy, remaining));
      if (released.length === 0) break;
      for (const key of released) keys.add(key);
      remaining -= released.length;
    }
    return keys.size;
  }

  addAccessKey(key: NewAccessKey, replaced?: ReplacedKey) {
    return this.transactions.run((transaction) => addAccessKey(transaction, key, replaced));
  }

  revokeAccessKey(id: string) {
    return this.transactions.run((transaction) => revokeAccessKey(transaction, id));
  }

  noteKeyUses(uses: readonly KeyUse[]) {
    return this.transactions.run((transaction) => noteKeyUses(transaction, uses));
  }

  watchAccessKeys(listener: () => void): () => void {
    return this.#options.wakes.watchKeys(listener);
  }

  wake(onWake: () => void): () => void {
    return this.#options.wakes.listen(onWake);
  }

  async sweep(): Promise<number> {
    const { retentionMs, snapshotRetentionMs } = this.#options;
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
        values.sweepExpired(transaction, retentionMs, snapshotRetentionMs),
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

  /** Appends the events of due timers, in a separate transaction. */
  async #appendDue(): Promise<void> {
    const isMore = await this.transactions.run(async (transaction) => {
      const { events, keys } = await takeDue(transaction, MAX_CLAIM_TIMERS);
      await append(transaction, events);
      if (keys.length > 0) await scheduleUnclaimed(transaction, keys);
      return events.length === MAX_CLAIM_TIMERS;
    });
    if (isMore) this.#options.wakes.notify();
  }
}
