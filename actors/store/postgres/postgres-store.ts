// A Store on PostgreSQL, for one node of several. What comes often, appends and commits, goes in groups (group-commit.ts); everything
// else is a transaction of its own.
//
// A promise resolves after a commit only; calls that were refused have changed nothing.
// What has become claimable is told to this node at once, and to the others by a notification after the commit, which may be
// lost: each looks by itself POLL_MS after it last did (S10).

import type { Cluster } from '../../cluster/cluster.ts';
import { type GatewayError, OverloadedError, StoppedError } from '../../errors.ts';
import { appendedOf } from '../appended.ts';
import type { ApprovalFilter, NewDecision } from '../approval.ts';
import type { Delivery, DeliveryFilter, DeliveryPage, Undelivered } from '../delivery.ts';
import type { Entered } from '../ledger.ts';
import type { RunFilter, RunPage } from '../run.ts';
import { storable } from '../storable.ts';
import type {
  Appended,
  AppendOptions,
  Committed,
  NewEvent,
  PutOptions,
  Store,
  Turn,
  TurnRef,
  TurnResult,
} from '../store.ts';
import { append, appendEmitted, findAll } from './append.ts';
import { decideApproval, findApproval, listApprovals } from './approvals.ts';
import { claim, renew } from './claim.ts';
import { commit } from './commit.ts';
import type { Database, Transaction } from './database.ts';
import { GroupCommit } from './group-commit.ts';
import { countStates, deliveryPage, findDelivery, sweepDeliveries, unfinished } from './history.ts';
import type { Membership } from './membership.ts';
import { discard, holders, release, requeue, undeliver, withReceipt } from './operations.ts';
import { findRun, runPage, stepsAfter } from './runs.ts';
import * as shelves from './shelves.ts';
import { isAnyDue, takeDue } from './timers.ts';
import { isAwaited } from './waits.ts';
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

interface AppendCall {
  readonly events: readonly NewEvent[];
  readonly claimMs: number | undefined;
}

const CALLS_TOGETHER = 500;
const BYTES_TOGETHER = 8 * 1024 * 1024;
/** Bodies that one claim, or one commit, gives out together; one may go beyond. */
const CLAIMED_BYTES = 16 * 1024 * 1024;
/** Timers that become events in one claim. */
const TIMERS_AT_ONCE = 500;
/** The most that one list gives. */
const LIST_LIMIT = 1_000;
/** Parts of one page: 200,000 records are looked at. */
const PAGES_AT_ONCE = 20;

export class PostgresStore implements Store {
  readonly #options: PostgresStoreOptions;
  readonly #appends: GroupCommit<AppendCall, readonly Appended[]>;
  readonly #commits: GroupCommit<TurnResult, Committed>;
  /** How many waited or ran when this was last counted, with those that have come by this node since. */
  #waiting = Number.POSITIVE_INFINITY;
  #isClosed = false;

  constructor(options: PostgresStoreOptions) {
    this.#options = options;
    this.#appends = new GroupCommit({
      name: 'append',
      run: (calls) => this.#append(calls),
      maxCalls: CALLS_TOGETHER,
      maxBytes: BYTES_TOGETHER,
    });
    this.#commits = new GroupCommit({
      name: 'commit',
      run: (results) => this.#write((transaction) => commit(transaction, results, CLAIMED_BYTES)),
      alone: ({ key }) => [storable(key)],
      maxCalls: CALLS_TOGETHER,
      maxBytes: BYTES_TOGETHER,
    });
  }

  get cluster(): Cluster {
    return this.#options.cluster;
  }

  async append(events: readonly NewEvent[], { claimMs }: AppendOptions = {}): Promise<readonly Appended[]> {
    this.#checkOpen();
    if (events.length === 0) return [];
    return this.#appends.call({ events, claimMs }, bytesOf(events));
  }

  async claim(max: number, leaseMs: number, keyPrefix = ''): Promise<readonly Turn[]> {
    if (max < 1) return [];
    const { epoch: node } = this.#options.membership;
    const wish = { node, maxBytes: CLAIMED_BYTES, keyPrefix: storable(keyPrefix), leaseMs };
    const some = (count: number) =>
      this.#write(async (transaction) => {
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
    return this.#write((transaction) => renew(transaction, turns, leaseMs));
  }

  async commit(results: readonly TurnResult[]): Promise<readonly Committed[]> {
    this.#checkOpen();
    return Promise.all(
      results.map((result) => this.#commits.call(result, 1_000 + bytesOf(result.emit ?? []))),
    );
  }

  lease(name: string, node: string, address: string, ttlMs: number) {
    return this.#write((transaction) => shelves.lease(transaction, name, node, address, ttlMs));
  }

  owner(name: string) {
    return this.#write((transaction) => shelves.owner(transaction, name));
  }

  tick(name: string, at: number, event: NewEvent): Promise<boolean> {
    return this.#write(async (transaction) => {
      if (!(await this.#hasRoom(transaction, [event]))) throw this.#overloaded();
      if (!(await shelves.tickOnce(transaction, name, at))) return false;
      await append(transaction, [event]);
      return true;
    });
  }

  lastTick(name: string) {
    return this.#write((transaction) => shelves.lastTick(transaction, name));
  }

  forgetTicks(name: string, after?: number) {
    return this.#write((transaction) => shelves.forgetTicks(transaction, name, after));
  }

  put(space: string, key: string, value: string, options: PutOptions = {}) {
    return this.#write((transaction) => shelves.put(transaction, space, key, value, options));
  }

  get(space: string, key: string) {
    return this.#write((transaction) => shelves.get(transaction, space, key));
  }

  delete(space: string, key: string) {
    return this.#write((transaction) => shelves.remove(transaction, space, key));
  }

  keys(space: string) {
    return this.#write((transaction) => shelves.keysOf(transaction, space));
  }

  async deliveries(filter: DeliveryFilter): Promise<readonly Delivery[]> {
    return (await this.#pages(filter, Number.POSITIVE_INFINITY)).deliveries;
  }

  deliveryPage(filter: DeliveryFilter): Promise<DeliveryPage> {
    return this.#pages(filter, PAGES_AT_ONCE);
  }

  delivery(id: string) {
    return this.#write((transaction) => findDelivery(transaction, id));
  }

  requeue(id: string, options?: { readonly keepsJournal?: boolean }) {
    return this.#write((transaction) => requeue(transaction, id, options));
  }

  steps(id: string, after = 0) {
    return this.#write((transaction) => stepsAfter(transaction, id, after));
  }

  async runs(filter: RunFilter): Promise<RunPage> {
    const limit = Math.max(1, Math.min(LIST_LIMIT, Math.floor(filter.limit)));
    const runs: RunPage['runs'][number][] = [];
    let beforeSeq = filter.beforeSeq ?? Number.MAX_SAFE_INTEGER;
    for (let count = 0; count < PAGES_AT_ONCE && runs.length < limit; count += 1) {
      const rest = { ...filter, beforeSeq, limit: limit - runs.length };
      const page = await this.#write((transaction) => runPage(transaction, rest));
      runs.push(...page.runs);
      if (page.beforeSeq === undefined) return { runs, beforeSeq: undefined };
      beforeSeq = page.beforeSeq;
    }
    return { runs, beforeSeq };
  }

  run(id: string) {
    return this.#write((transaction) => findRun(transaction, id));
  }

  approvals(filter: ApprovalFilter) {
    return this.#write((transaction) => listApprovals(transaction, filter));
  }

  approval(id: string) {
    return this.#write((transaction) => findApproval(transaction, id));
  }

  decide(id: string, decision: NewDecision) {
    return this.#write(async (transaction) => {
      const isFirst = await decideApproval(transaction, id, decision);
      const approval = await findApproval(transaction, id);
      return approval && { isFirst, approval };
    });
  }

  withReceipt(keyPrefix: string, receipt: string) {
    return this.#write((transaction) => withReceipt(transaction, keyPrefix, receipt));
  }

  undeliver(keyPrefix: string, messages: readonly Undelivered[]): Promise<readonly (string | undefined)[]> {
    return this.#write(async (transaction) => {
      const ids: (string | undefined)[] = [];
      for (const message of messages) ids.push(await undeliver(transaction, keyPrefix, message));
      return ids;
    });
  }

  discard(id: string, note: string, effects?: Pick<TurnResult, 'emit' | 'cancelTimers'>) {
    return this.#write((transaction) => discard(transaction, id, note, effects));
  }

  async release(heldBy: string, max = Number.POSITIVE_INFINITY): Promise<number> {
    const keys = new Set<string>();
    let left = Math.floor(max);
    while (left > 0) {
      const released = await this.#write((transaction) => release(transaction, heldBy, left));
      if (released.length === 0) break;
      for (const key of released) keys.add(key);
      left -= released.length;
    }
    return keys.size;
  }

  holders() {
    return this.#write(holders);
  }

  counts() {
    return this.#write(countStates);
  }

  wake(onWake: () => void): () => void {
    return this.#options.wakes.listen(onWake);
  }

  async sweep(): Promise<number> {
    const { retentionMs, rememberMs } = this.#options;
    let removed = 0;
    for (let afterSeq: number | undefined = 0; afterSeq !== undefined; ) {
      const from: number = afterSeq;
      const part = await this.#write((transaction) =>
        sweepDeliveries(transaction, from, transaction.now - retentionMs),
      );
      removed += part.removed;
      afterSeq = part.afterSeq;
    }
    for (let others = 1; others > 0; removed += others)
      others = await this.#write((transaction) => shelves.sweepShelves(transaction, retentionMs, rememberMs));
    return removed;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.all([this.#appends.idle(), this.#commits.idle()]);
    await this.#options.wakes.close();
    await this.#options.membership.leave();
    await this.#options.database.close();
  }

  /** Each call by itself: those that would exceed the bound are refused, and the others are taken. */
  async #append(calls: readonly AppendCall[]): Promise<readonly (readonly Appended[] | GatewayError)[]> {
    return this.#write(async (transaction) => {
      const answers: (readonly Appended[] | GatewayError)[] = [];
      const taken: AppendCall[] = [];
      for (const [index, call] of calls.entries())
        if (await this.#hasRoom(transaction, call.events, taken)) taken.push(call);
        else answers[index] = this.#overloaded();
      const { epoch: node } = this.#options.membership;
      // Those that claim and those that do not are two lists: one statement each.
      const claimMs = Math.max(0, ...taken.map((call) => call.claimMs ?? 0));
      const claiming = taken.filter((call) => call.claimMs !== undefined);
      const plain = taken.filter((call) => call.claimMs === undefined);
      const entered = new Map<AppendCall, readonly Entered[]>();
      for (const [group, how] of [
        [claiming, { node, claimMs }],
        [plain, undefined],
      ] as const) {
        const all = await append(
          transaction,
          group.flatMap(({ events }) => events),
          how,
        );
        let from = 0;
        for (const call of group) {
          entered.set(call, all.slice(from, from + call.events.length));
          from += call.events.length;
        }
      }
      for (const [index, call] of calls.entries())
        answers[index] ??= (entered.get(call) ?? []).map((entry, n) =>
          appendedOf(call.events[n] as NewEvent, entry),
        );
      return answers;
    });
  }

  /** Whether there is room for what is new among them; what is known needs none, and what wakes an event that waits. */
  async #hasRoom(
    transaction: Transaction,
    events: readonly NewEvent[],
    before: readonly AppendCall[] = [],
  ): Promise<boolean> {
    const { maxWaiting } = this.#options;
    const coming = before.reduce((sum, call) => sum + call.events.length, 0);
    this.#waiting += events.length;
    if (this.#waiting <= maxWaiting) return true;
    const there = (await unfinished(transaction)) + coming;
    this.#waiting = there + events.length;
    if (this.#waiting <= maxWaiting) return true;
    const known = await findAll(
      transaction,
      events.map(({ id }) => storable(id)),
    );
    const added = new Set<string>();
    for (const { id, key, wakes, isOnce } of events) {
      if (wakes !== undefined && (await isAwaited(transaction, storable(key), storable(wakes)))) continue;
      const state = known.get(storable(id))?.state;
      if (state === undefined || (state === 'dead' && isOnce !== true)) added.add(storable(id));
    }
    return added.size === 0 || there + added.size <= maxWaiting;
  }

  #overloaded(): OverloadedError {
    return new OverloadedError(
      `the store holds ${this.#options.maxWaiting} events that wait; try again later`,
    );
  }

  /** Timers that are due become events, in a transaction of their own. */
  async #appendDue(): Promise<void> {
    const isMore = await this.#write(async (transaction) => {
      const due = await takeDue(transaction, TIMERS_AT_ONCE);
      await append(transaction, due);
      return due.length === TIMERS_AT_ONCE;
    });
    if (isMore) this.#options.wakes.tell();
  }

  async #write<T>(action: (transaction: Transaction) => Promise<T>): Promise<T> {
    this.#checkOpen();
    let isWakeDue = false;
    const result = await this.#options.database.transaction(async (transaction) => {
      const value = await action(transaction);
      await appendEmitted(transaction);
      isWakeDue = transaction.isWakeDue;
      return value;
    });
    if (isWakeDue) this.#options.wakes.tell();
    return result;
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new StoppedError('the store is closed');
  }

  async #pages(filter: DeliveryFilter, max: number): Promise<DeliveryPage> {
    const deliveries: Delivery[] = [];
    const limit = Math.max(0, Math.min(LIST_LIMIT, Math.floor(filter.limit)));
    let beforeSeq: number | undefined = filter.beforeSeq ?? Number.MAX_SAFE_INTEGER;
    for (let count = 0; count < max && deliveries.length < limit && beforeSeq !== undefined; count += 1) {
      const rest = { ...filter, beforeSeq, limit: limit - deliveries.length };
      const page: DeliveryPage = await this.#write((transaction) => deliveryPage(transaction, rest));
      deliveries.push(...page.deliveries);
      beforeSeq = page.beforeSeq;
    }
    return { deliveries, beforeSeq };
  }
}

function bytesOf(events: readonly NewEvent[]): number {
  return events.reduce((sum, { body, meta }) => sum + body.byteLength + meta.length + 200, 0);
}
