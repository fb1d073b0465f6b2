// Embedded engine of the store (rules S1–S16 in ../store.ts) on SQLite, synchronous. It runs in the worker
// thread (worker/). The caller opens a transaction with `transaction` and calls the operations in it. Tests
// pass their own clock.

import { largestHolders } from '../../base/bounds/limit-usage.ts';
import type {
  AccessKey,
  AddedKey,
  KeyUse,
  NewAccessKey,
  ReplacedKey,
} from '../../identity/access-keys/access-key.ts';
import type { ApprovalFilter, DecidedApproval, NewDecision, StoredApproval } from '../approval.ts';
import { MAX_CLAIM_BYTES, MAX_CLAIM_TIMERS } from '../claim-limits.ts';
import type {
  Delivery,
  DeliveryCounts,
  DeliveryFilter,
  DeliveryPage,
  EventUsage,
  Undelivered,
} from '../delivery.ts';
import type { NewEvent } from '../event.ts';
import { Appender } from '../mailboxes/appender.ts';
import { Completions } from '../mailboxes/completions.ts';
import { Mailboxes } from '../mailboxes/mailboxes.ts';
import { ParkedEvents } from '../mailboxes/parked-events.ts';
import { toStorableText } from '../record-texts.ts';
import type { Run, RunFilter, RunPage, Step } from '../run.ts';
import type {
  Committed,
  Lease,
  Owner,
  PutOptions,
  Turn,
  TurnRef,
  TurnResult,
  VersionedValue,
} from '../store.ts';
import type { AppendResult, SweptPart, SyncStore } from '../sync-store.ts';
import { SqliteAccessKeys } from './access-keys.ts';
import { EngineClock } from './clock.ts';
import { SqliteConnection } from './connection.ts';
import { SqliteDeliveries } from './deliveries.ts';
import { EngineTransactions } from './engine-transactions.ts';
import { faultOf, type SqliteFault } from './faults.ts';
import { SqliteHistory } from './history.ts';
import { SqliteLeases } from './leases.ts';
import { SqliteParkedEvents } from './parked-events.ts';
import { SqliteReceipts } from './receipts.ts';
import { RunRecords } from './runs.ts';
import { type Migration, migrate, rejectForeign } from './schema.ts';
import { SqliteSnapshots } from './snapshots.ts';
import { SqliteTicks } from './ticks.ts';
import { SqliteTimers } from './timers.ts';
import { SqliteCounter, SqliteValues } from './values.ts';

export interface EngineOptions {
  readonly file: string;
  /** Retention of finished deliveries and their ids. */
  readonly retentionMs: number;
  /** Retention of unused snapshots. */
  readonly snapshotRetentionMs: number;
  /** Maximum number of unfinished events. */
  readonly maxWaiting: number;
  /** Maximum number of parked events. */
  readonly maxParked: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /**
   * Monotonic milliseconds, to distinguish clock steps from elapsed time. Without it, steps forward count as
   * elapsed time.
   */
  readonly uptime?: () => number;
  /** Receives a description of damaged records. */
  readonly onDamage?: (what: string) => void;
}

const ROWS_AT_ONCE = 500;

export class SqliteEngine implements SyncStore {
  /** Migration of the file when it was opened, if any. */
  readonly migration: Migration | undefined;
  readonly #options: EngineOptions;
  readonly #connection: SqliteConnection;
  readonly #deliveries: SqliteDeliveries;
  readonly #parkedRecords: SqliteParkedEvents;
  readonly #mailboxes: Mailboxes;
  readonly #timers: SqliteTimers;
  readonly #leases: SqliteLeases;
  readonly #ticks: SqliteTicks;
  readonly #values: SqliteValues;
  readonly #accessKeys: SqliteAccessKeys;
  readonly #history: SqliteHistory;
  readonly #receipts: SqliteReceipts;
  readonly #snapshots: SqliteSnapshots;
  readonly #runs: RunRecords;
  readonly #appender: Appender;
  readonly #completions: Completions;
  readonly #transactions: EngineTransactions;

  /** Opens the file, migrates it and voids all claims. Throws StoreUnavailableError. */
  constructor(options: EngineOptions) {
    this.#options = options;
    let connection: SqliteConnection | undefined;
    try {
      connection = new SqliteConnection(options.file, options.onDamage);
      rejectForeign(connection);
      connection.makeDurable();
      this.migration = migrate(connection, options.file);
      const counter = new SqliteCounter(connection);
      this.#connection = connection;
      const parkedRecords = new SqliteParkedEvents(connection);
      this.#parkedRecords = parkedRecords;
      this.#runs = new RunRecords(connection, (event, now) => this.#appender.add(event, now));
      this.#deliveries = new SqliteDeliveries(connection, parkedRecords, (seq, now) =>
        this.#runs.end(seq, now),
      );
      this.#timers = new SqliteTimers(connection);
      this.#leases = new SqliteLeases(connection, counter);
      this.#ticks = new SqliteTicks(connection);
      this.#values = new SqliteValues(connection, counter);
      this.#accessKeys = new SqliteAccessKeys(connection, counter);
      this.#history = new SqliteHistory(connection, (seq) => this.#runs.remove(seq));
      this.#receipts = new SqliteReceipts(connection);
      this.#snapshots = new SqliteSnapshots(connection);
      this.#mailboxes = new Mailboxes(this.#deliveries, this.#snapshots, counter);
      const parkedEvents = new ParkedEvents(
        parkedRecords,
        this.#deliveries,
        this.#mailboxes,
        this.#timers,
        options.maxParked,
      );
      this.#appender = new Appender(
        this.#deliveries,
        this.#mailboxes,
        this.#snapshots,
        parkedEvents,
        options.maxWaiting,
      );
      this.#completions = new Completions({
        deliveries: this.#deliveries,
        mailboxes: this.#mailboxes,
        parkedEvents,
        progress: parkedRecords,
        timers: this.#timers,
        snapshots: this.#snapshots,
        runs: this.#runs,
        appender: this.#appender,
        maxBytes: MAX_CLAIM_BYTES,
      });
      this.#transactions = new EngineTransactions(
        connection,
        new EngineClock(options.now, options.uptime),
        this.#deliveries,
        this.#mailboxes,
      );
      this.#transactions.start(() => parkedEvents.load());
      this.#noteStart();
    } catch (error) {
      connection?.close();
      throw faultOf(error, options.file)?.error ?? error;
    }
  }

  /** Ignores a full disk, because reads still work. */
  #noteStart(): void {
    try {
      this.followClock();
    } catch (error) {
      if (faultOf(error, this.#options.file) === undefined) throw error;
    }
  }

  /** Runs the action atomically. Throws errors of the action and of SQLite. */
  transaction<T>(action: () => T): T {
    return this.#transactions.run(action);
  }

  /** Detects clock steps and records the clock in idle periods. Throws errors of SQLite. */
  followClock(): void {
    this.#transactions.followClock();
  }

  /** Converts an error to a fault of the file. */
  faultOf(error: unknown): SqliteFault | undefined {
    return faultOf(error, this.#options.file);
  }

  append(events: readonly NewEvent[], claimMs?: number): readonly AppendResult[] {
    this.#appender.checkCapacity(events);
    return events.map((event) =>
      claimMs === undefined
        ? this.#appender.add(event, this.#time)
        : this.#appender.addClaimed(event, claimMs, this.#time),
    );
  }

  claim(max: number, leaseMs: number, keyPrefix = ''): readonly Turn[] {
    if (max < 1) return [];
    const due = this.#timers.takeDue(this.#time, MAX_CLAIM_TIMERS);
    for (const event of due) this.#appender.add(event, this.#time);
    if (due.length === MAX_CLAIM_TIMERS) this.#mailboxes.requestWake();
    const request = {
      max: Math.floor(max),
      maxBytes: MAX_CLAIM_BYTES,
      keyPrefix: toStorableText(keyPrefix),
      leaseMs,
    };
    return this.#mailboxes.claim(request, this.#time);
  }

  renew(turns: readonly TurnRef[], leaseMs: number): readonly TurnRef[] {
    return this.#mailboxes.renew(turns, leaseMs, this.#time);
  }

  commit(results: readonly TurnResult[]): readonly Committed[] {
    const committed = this.#completions.commit(results, this.#time);
    this.#transactions.recordTime();
    return committed;
  }

  lease(name: string, node: string, address: string, ttlMs: number): Lease | undefined {
    return this.#leases.take(name, node, address, ttlMs, this.#time);
  }

  owner(name: string): Owner | undefined {
    return this.#leases.owner(name, this.#time);
  }

  tick(name: string, at: number, event: NewEvent): boolean {
    this.#appender.checkCapacity([event]);
    if (!this.#ticks.note(name, at)) return false;
    this.#appender.add(event, this.#time);
    return true;
  }

  lastTick(name: string): number | undefined {
    return this.#ticks.last(name);
  }

  forgetTicks(name: string, after?: number): void {
    this.#ticks.forget(name, after);
  }

  put(space: string, key: string, value: string, options: PutOptions = {}): boolean {
    return this.#values.put(space, key, value, options, this.#time);
  }

  get(space: string, key: string): VersionedValue | undefined {
    return this.#values.get(space, key, this.#time);
  }

  delete(space: string, key: string): void {
    this.#values.delete(space, key);
  }

  keys(space: string): readonly string[] {
    return this.#values.keys(space, this.#time);
  }

  accessKeys(afterVersion: number): readonly AccessKey[] {
    return this.#accessKeys.after(afterVersion);
  }

  addAccessKey(key: NewAccessKey, replaced?: ReplacedKey): AddedKey {
    return this.#accessKeys.add(key, replaced, this.#time);
  }

  revokeAccessKey(id: string): boolean {
    return this.#accessKeys.revoke(id, this.#time);
  }

  noteKeyUses(uses: readonly KeyUse[]): void {
    this.#accessKeys.noteUses(uses);
  }

  deliveryPage(filter: DeliveryFilter): DeliveryPage {
    return this.#history.page(filter);
  }

  delivery(id: string): (Delivery & { readonly meta: string; readonly body: Uint8Array }) | undefined {
    return this.#history.find(id);
  }

  requeue(id: string, options?: { readonly keepsJournal?: boolean }): boolean {
    return this.#completions.requeue(id, options, this.#time);
  }

  steps(id: string, after = 0): readonly Step[] {
    return this.#runs.journals.steps(id, after);
  }

  runs(filter: RunFilter): RunPage {
    return this.#runs.journals.page(filter, (id) => this.#history.listed(id));
  }

  run(id: string): Run | undefined {
    return this.#runs.journals.run(id, (each) => this.#history.record(each));
  }

  approvals(filter: ApprovalFilter): readonly StoredApproval[] {
    return this.#runs.approvals.list(filter, this.#time);
  }

  approval(id: string): StoredApproval | undefined {
    return this.#runs.approvals.find(id, this.#time);
  }

  decide(id: string, decision: NewDecision): DecidedApproval | undefined {
    return this.#runs.decide(id, decision, this.#time);
  }

  withReceipt(keyPrefix: string, receipt: string): string | undefined {
    return this.#receipts.find(toStorableText(keyPrefix), receipt);
  }

  undeliver(keyPrefix: string, messages: readonly Undelivered[]): readonly (string | undefined)[] {
    return messages.map((message) =>
      this.#receipts.undeliver(toStorableText(keyPrefix), message, this.#time),
    );
  }

  discard(id: string, note: string, effects?: Pick<TurnResult, 'emit' | 'cancelTimers'>): boolean {
    return this.#completions.discard(id, note, effects, this.#time);
  }

  release(heldBy: string, max = Number.POSITIVE_INFINITY): number {
    return this.#mailboxes.release(heldBy, max, this.#time);
  }

  holders(): readonly string[] {
    return this.#deliveries.holders();
  }

  counts(): DeliveryCounts {
    return this.#history.counts();
  }

  usage(): EventUsage {
    const { maxWaiting, maxParked } = this.#options;
    const { total, byTrigger } = this.#deliveries.unfinished;
    return {
      waiting: { used: total, max: maxWaiting, holders: largestHolders(byTrigger) },
      parked: this.#parkedRecords.counts.usageOf(maxParked),
    };
  }

  sweepPart(afterSeq: number): SweptPart {
    const before = this.#time - this.#options.retentionMs;
    const part = this.#history.sweep(afterSeq, before, this.#time);
    const others =
      this.#values.sweep(this.#time, ROWS_AT_ONCE) +
      this.#leases.sweep(this.#time, ROWS_AT_ONCE) +
      this.#ticks.sweep(before, ROWS_AT_ONCE) +
      this.#snapshots.sweep(this.#time - this.#options.snapshotRetentionMs, ROWS_AT_ONCE);
    // The sweep continues until no table has expired rows.
    const isDone = part.afterSeq === undefined && others === 0;
    return {
      removed: part.removed + others,
      afterSeq: isDone ? undefined : (part.afterSeq ?? Number.MAX_SAFE_INTEGER),
    };
  }

  /** Sum of the clock's steps (../steady-clock.ts), in milliseconds. */
  get clockShiftMs(): number {
    return this.#transactions.clockShiftMs;
  }

  /** Returns true if any mailbox became claimable since the last call. */
  takeWake(): boolean {
    return this.#mailboxes.takeWake();
  }

  /** Returns the next due time after `time`, epoch milliseconds. */
  nextDueAfter(time: number): number | undefined {
    const claimable = this.#mailboxes.nextAfter(time);
    const timer = this.#timers.nextAfter(time);
    if (claimable === undefined || timer === undefined) return claimable ?? timer;
    return Math.min(claimable, timer);
  }

  close(): void {
    this.#connection.close();
  }

  get #time(): number {
    return this.#transactions.time;
  }
}
