// The embedded engine of the store, synchronous and without threads: carries out every operation in SQL, inside a transaction
// that the caller opens. The clock is an input, so that tests can set it.
//
// Operations run inside `transaction` only (engine-transactions.ts has what holds for those).

import type { ApprovalFilter, DecidedApproval, NewDecision, StoredApproval } from '../approval.ts';
import { CLAIMED_BYTES, TIMERS_AT_ONCE } from '../claim-limits.ts';
import type { Delivery, DeliveryCounts, DeliveryFilter, DeliveryPage, Undelivered } from '../delivery.ts';
import type { NewEvent } from '../event.ts';
import type { Entered, Ledger, SweptPart } from '../ledger.ts';
import { Appender } from '../mailboxes/appender.ts';
import { Mailboxes } from '../mailboxes/mailboxes.ts';
import { TurnEnds } from '../mailboxes/turn-ends.ts';
import { Waits } from '../mailboxes/waits.ts';
import { storable } from '../record-texts.ts';
import type { Run, RunFilter, RunPage, Step } from '../run.ts';
import type { Committed, Lease, Owner, PutOptions, Turn, TurnRef, TurnResult, Versioned } from '../store.ts';
import { EngineClock } from './clock.ts';
import { SqliteConnection } from './connection.ts';
import { SqliteDeliveries } from './deliveries.ts';
import { EngineTransactions } from './engine-transactions.ts';
import { type Fault, faultOf } from './faults.ts';
import { SqliteHistory } from './history.ts';
import { SqliteLeases } from './leases.ts';
import { SqliteReceipts } from './receipts.ts';
import { RunRecords } from './runs.ts';
import { migrate, refuseForeign } from './schema.ts';
import { SqliteSnapshots } from './snapshots.ts';
import { SqliteTicks } from './ticks.ts';
import { SqliteTimers } from './timers.ts';
import { SqliteCounter, SqliteValues } from './values.ts';
import { SqliteWaits } from './waits.ts';

export interface EngineOptions {
  readonly file: string;
  /** How long the record of an ended delivery, and with it the id, is kept. */
  readonly retentionMs: number;
  /** How long a snapshot is kept that no turn of its key has left anew. */
  readonly rememberMs: number;
  /** Bound of events that wait or run. */
  readonly maxWaiting: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /**
   * Milliseconds that only grow, by which a clock that was set is told from time that has passed. Without it, all of
   * what the clock goes forward has passed.
   */
  readonly uptime?: () => number;
  /** Hears in words what is damaged in a record. */
  readonly onDamage?: (what: string) => void;
}

const ROWS_AT_ONCE = 500;

export class SqliteEngine implements Ledger {
  readonly #options: EngineOptions;
  readonly #connection: SqliteConnection;
  readonly #deliveries: SqliteDeliveries;
  readonly #mailboxes: Mailboxes;
  readonly #timers: SqliteTimers;
  readonly #leases: SqliteLeases;
  readonly #ticks: SqliteTicks;
  readonly #values: SqliteValues;
  readonly #history: SqliteHistory;
  readonly #receipts: SqliteReceipts;
  readonly #snapshots: SqliteSnapshots;
  readonly #runs: RunRecords;
  readonly #appender: Appender;
  readonly #ends: TurnEnds;
  readonly #transactions: EngineTransactions;

  /** Opens the file, brings it to this version and ends all claims. Throws StoreUnavailableError. */
  constructor(options: EngineOptions) {
    this.#options = options;
    let connection: SqliteConnection | undefined;
    try {
      connection = new SqliteConnection(options.file, options.onDamage);
      refuseForeign(connection);
      connection.makeDurable();
      migrate(connection);
      const counter = new SqliteCounter(connection);
      this.#connection = connection;
      const waiting = new SqliteWaits(connection);
      this.#runs = new RunRecords(connection, (event, now) => this.#appender.add(event, now));
      this.#deliveries = new SqliteDeliveries(connection, waiting, (seq, now) => this.#runs.end(seq, now));
      this.#timers = new SqliteTimers(connection);
      this.#leases = new SqliteLeases(connection, counter);
      this.#ticks = new SqliteTicks(connection);
      this.#values = new SqliteValues(connection, counter);
      this.#history = new SqliteHistory(connection, (seq) => this.#runs.remove(seq));
      this.#receipts = new SqliteReceipts(connection);
      this.#snapshots = new SqliteSnapshots(connection);
      this.#mailboxes = new Mailboxes(this.#deliveries, this.#snapshots, counter);
      const waits = new Waits(waiting, this.#deliveries, this.#mailboxes, this.#timers);
      this.#appender = new Appender(
        this.#deliveries,
        this.#mailboxes,
        this.#snapshots,
        waits,
        options.maxWaiting,
      );
      this.#ends = new TurnEnds({
        deliveries: this.#deliveries,
        mailboxes: this.#mailboxes,
        waits,
        progress: waiting,
        timers: this.#timers,
        snapshots: this.#snapshots,
        runs: this.#runs,
        appender: this.#appender,
        maxBytes: CLAIMED_BYTES,
      });
      this.#transactions = new EngineTransactions(
        connection,
        new EngineClock(options.now, options.uptime),
        this.#deliveries,
        this.#mailboxes,
      );
      this.#transactions.start(() => waits.load());
      this.#noteStart();
    } catch (error) {
      connection?.close();
      throw faultOf(error, options.file)?.error ?? error;
    }
  }

  /** On a full disk what can be read is read all the same. */
  #noteStart(): void {
    try {
      this.keepTime();
    } catch (error) {
      if (faultOf(error, this.#options.file) === undefined) throw error;
    }
  }

  /** All or nothing. Throws what the action throws, and errors of SQLite. */
  transaction<T>(action: () => T): T {
    return this.#transactions.run(action);
  }

  /** For when nothing else happens: notices that the clock was set, and notes the time. Throws errors of SQLite. */
  keepTime(): void {
    this.#transactions.keepTime();
  }

  /** What is wrong with the file, when that is what an error says. */
  faultOf(error: unknown): Fault | undefined {
    return faultOf(error, this.#options.file);
  }

  append(events: readonly NewEvent[], claimMs?: number): readonly Entered[] {
    this.#appender.checkRoom(events);
    return events.map((event) =>
      claimMs === undefined
        ? this.#appender.add(event, this.#time)
        : this.#appender.addClaimed(event, claimMs, this.#time),
    );
  }

  claim(max: number, leaseMs: number, keyPrefix = ''): readonly Turn[] {
    if (max < 1) return [];
    const due = this.#timers.takeDue(this.#time, TIMERS_AT_ONCE);
    for (const event of due) this.#appender.add(event, this.#time);
    if (due.length === TIMERS_AT_ONCE) this.#mailboxes.notice();
    const wish = { max: Math.floor(max), maxBytes: CLAIMED_BYTES, keyPrefix: storable(keyPrefix), leaseMs };
    return this.#mailboxes.claim(wish, this.#time);
  }

  renew(turns: readonly TurnRef[], leaseMs: number): readonly TurnRef[] {
    return this.#mailboxes.renew(turns, leaseMs, this.#time);
  }

  commit(results: readonly TurnResult[]): readonly Committed[] {
    const committed = this.#ends.commit(results, this.#time);
    this.#transactions.noteTime();
    return committed;
  }

  lease(name: string, node: string, address: string, ttlMs: number): Lease | undefined {
    return this.#leases.take(name, node, address, ttlMs, this.#time);
  }

  owner(name: string): Owner | undefined {
    return this.#leases.owner(name, this.#time);
  }

  tick(name: string, at: number, event: NewEvent): boolean {
    this.#appender.checkRoom([event]);
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

  get(space: string, key: string): Versioned | undefined {
    return this.#values.get(space, key, this.#time);
  }

  delete(space: string, key: string): void {
    this.#values.delete(space, key);
  }

  keys(space: string): readonly string[] {
    return this.#values.keys(space, this.#time);
  }

  deliveryPage(filter: DeliveryFilter): DeliveryPage {
    return this.#history.page(filter);
  }

  delivery(id: string): (Delivery & { readonly meta: string; readonly body: Uint8Array }) | undefined {
    return this.#history.find(id);
  }

  requeue(id: string, options?: { readonly keepsJournal?: boolean }): boolean {
    return this.#ends.requeue(id, options, this.#time);
  }

  steps(id: string, after = 0): readonly Step[] {
    return this.#runs.journals.steps(id, after);
  }

  runs(filter: RunFilter): RunPage {
    return this.#runs.journals.page(filter, (id) => this.#history.record(id));
  }

  run(id: string): Run | undefined {
    return this.#runs.journals.run(id, (each) => this.#history.record(each));
  }

  approvals(filter: ApprovalFilter): readonly StoredApproval[] {
    return this.#runs.approvals.list(filter);
  }

  approval(id: string): StoredApproval | undefined {
    return this.#runs.approvals.find(id);
  }

  decide(id: string, decision: NewDecision): DecidedApproval | undefined {
    return this.#runs.decide(id, decision, this.#time);
  }

  withReceipt(keyPrefix: string, receipt: string): string | undefined {
    return this.#receipts.find(storable(keyPrefix), receipt);
  }

  undeliver(keyPrefix: string, messages: readonly Undelivered[]): readonly (string | undefined)[] {
    return messages.map((message) => this.#receipts.undeliver(storable(keyPrefix), message, this.#time));
  }

  discard(id: string, note: string, effects?: Pick<TurnResult, 'emit' | 'cancelTimers'>): boolean {
    return this.#ends.discard(id, note, effects, this.#time);
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

  sweepPart(afterSeq: number): SweptPart {
    const before = this.#time - this.#options.retentionMs;
    const part = this.#history.sweep(afterSeq, before, this.#time);
    const others =
      this.#values.sweep(this.#time, ROWS_AT_ONCE) +
      this.#leases.sweep(this.#time, ROWS_AT_ONCE) +
      this.#ticks.sweep(before, ROWS_AT_ONCE) +
      this.#snapshots.sweep(this.#time - this.#options.rememberMs, ROWS_AT_ONCE);
    // The deliveries may be through while there is more of the others.
    const isDone = part.afterSeq === undefined && others === 0;
    return {
      removed: part.removed + others,
      afterSeq: isDone ? undefined : (part.afterSeq ?? Number.MAX_SAFE_INTEGER),
    };
  }

  /** Whether something has become claimable since this was last asked. */
  takeWake(): boolean {
    return this.#mailboxes.takeWake();
  }

  /** When, after that time, something will be due next, epoch ms. */
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
