// Store contract. Events are appended to a mailbox (one per key), claimed in order, and committed with an
// outcome. A claim is a lease on a mailbox, identified by its fence, a number. The store also has snapshots,
// timers, leases, schedule ticks, journals, approvals and delivery records (one per event). The conformance
// suite in test/fixtures/store/ checks every engine. The promise of a change resolves when the change is
// durable. Other files cite the rules S1 to S16.
//
// S1   An event acknowledged by `append` survives kill -9 of the process, and a power loss if the disk
//      honours fsync.
// S2   Within the retention time an id identifies a single event. A repeated append has no effect, except
//      that a dead event is requeued ("revived") unless it has `isOnce`.
// S3   A key never has two unexpired claims. Fences of a key only increase; a commit with an old fence
//      changes nothing. An expired claim stays usable until another claim replaces it.
// S4   Events of a key are claimed in `seq` order, each only when the previous event is settled.
// S5   A commit is atomic: outcome, snapshot, emitted events and timers.
// S6   The epoch of a lease increases with every change of owner.
// S7   A schedule ticks once per point in time, unless `forgetTicks` removes the tick.
// S8   The engine's clock decides due dates and expiry. The embedded engine moves both at each clock step,
//      PostgreSQL only at steps back.
// S9   `append` does not depend on handlers. A store that is full or not writable rejects the call and
//      acknowledges nothing. Events emitted by a commit bypass the capacity limit; otherwise their source
//      event could never complete. Decisions and control calls have twice the limit, because they end work
//      that waits (key-kinds.ts). Parked events have a separate limit with shares (parked-shares.ts); above
//      it, a commit does not park.
// S10  `wake` is a hint: a late, duplicate or missing call only causes delay.
// S11  A crash of the process counts as one attempt and one crash of each running event; these events are
//      then suspects. A suspect is retried only when a pause has passed, which restarts with each process,
//      and if few other suspects run (machines/crashes.ts). At the crash limit the event becomes dead, with a
//      notice to the sender; if that step crashes the process, too, the store marks the event as dead.
// S12  A checkpoint is durable: the event continues under its claim, and later attempts start from the saved
//      state. A revived event starts without saved state, but with its journal.
// S13  A parked event has no claim and no attempt. Its waker is the first event of the key that wakes its
//      name, appended before or after the parking. A waker never runs: it is done when it has woken the
//      event, and it wakes a single event.
// S14  A parked event can block its key: then no event of the key runs, and wakers still wake it.
// S15  Journal steps are numbered without gaps and immutable. Steps of a lost claim are not stored. Steps are
//      removed only by a replay, or by the sweep that deletes the event.
// S16  An approval is decided once. It is not pending if its event has finished or restarted.

import type { AccessKeyStore } from '../identity/access-keys/access-key.ts';
import type {
  ApprovalFilter,
  DecidedApproval,
  NewApproval,
  NewDecision,
  StoredApproval,
} from './approval.ts';
import type {
  Delivery,
  DeliveryCounts,
  DeliveryFilter,
  DeliveryPage,
  DeliveryState,
  EventUsage,
  Undelivered,
} from './delivery.ts';
import type { NewEvent, StoredEvent } from './event.ts';
import type { Cluster } from './membership.ts';
import type { Run, RunFilter, RunNote, RunPage, Step } from './run.ts';

export interface AppendOptions {
  /**
   * Claims an event that arrives at an idle mailbox immediately, for this duration, which saves a `claim`
   * call. An engine need not do so; the next `claim` then returns the event.
   */
  readonly claimMs?: number | undefined;
}

export interface AppendOutcome {
  readonly id: string;
  /** `revived`: the event was dead and is requeued. */
  readonly outcome: 'new' | 'duplicate' | 'revived';
  readonly state: DeliveryState;
  /** Claim of a new event; only with `claimMs`. */
  readonly turn?: Turn | undefined;
}

/** Claim on a mailbox. */
export interface TurnRef {
  readonly key: string;
  readonly fence: number;
}

/** Event to handle under a claim. No other event of the key runs meanwhile. */
export interface Turn extends TurnRef {
  readonly event: StoredEvent;
  /** Snapshot saved by the previous event of this key. */
  readonly snapshot: string | undefined;
}

export interface NewTimer {
  /** Unique within the key; the same id replaces the timer. */
  readonly id: string;
  readonly inMs: number;
  /** Appended to its key when due. Each timer needs an event with a new id. */
  readonly event: NewEvent;
}

export interface TurnResult extends TurnRef {
  readonly seq: number;
  /**
   * `done`, `ignored` and `dead` are final. With `retrying`, `deferred`, `held` and `queued` the event stays
   * first in its mailbox; only `retrying` counts as an attempt.
   * - `retrying`: the attempt failed; the event is retried after `retryInMs`.
   * - `deferred`: the event could not start yet; it has the state `retrying` for `retryInMs`.
   * - `held`: blocked until the trigger `heldBy` is resumed.
   * - `queued`: the attempt is undone; with `heldBy` the event is blocked until that name is released.
   * - `checkpoint`: the run continues, with a new attempt count if the saved state changed.
   * - `parked`: suspends the event until `parkedOn` is woken; later events of the key may run.
   */
  readonly outcome:
    | 'done'
    | 'ignored'
    | 'dead'
    | 'retrying'
    | 'deferred'
    | 'held'
    | 'queued'
    | 'checkpoint'
    | 'parked';
  /**
   * Saved state for the next attempt (`checkpoint`, `parked`). Undefined keeps the state, null removes it.
   */
  readonly state?: string | null | undefined;
  /** Name that wakes a `parked` event, unique among the waiting events of the key. */
  readonly parkedOn?: string | undefined;
  /** True to block the key while the event is `parked`. */
  readonly holdsKey?: boolean | undefined;
  /** Delay of `retrying` and `deferred`. */
  readonly retryInMs?: number | undefined;
  /**
   * Value of `wasClaimed` in the next attempt of a `deferred` event. If this attempt had no effect, callers
   * pass the current value.
   */
  readonly wasClaimed?: boolean | undefined;
  /** Name for `release`: for `held` the paused trigger, for `queued` a group without free slots. */
  readonly heldBy?: string | undefined;
  /** Trigger, reason and answer for the delivery record. The store truncates long texts. */
  readonly trigger?: string | undefined;
  readonly note?: string | undefined;
  readonly answer?: string | undefined;
  /** Author of the answer, for the log only; not stored. */
  readonly by?: string | undefined;
  /** The platform's id of the sent message, for later edits. Undefined leaves the stored id unchanged. */
  readonly receipt?: string | undefined;
  /** Undefined leaves the snapshot unchanged, null removes it. */
  readonly snapshot?: string | null | undefined;
  readonly emit?: readonly NewEvent[] | undefined;
  readonly timers?: readonly NewTimer[] | undefined;
  readonly cancelTimers?: readonly string[] | undefined;
  /** Rows to add to the event's journal, each a JSON text. */
  readonly steps?: readonly string[] | undefined;
  /** Summary for run lists. Required for an event with a journal. */
  readonly run?: RunNote | undefined;
  /** Approvals to open with `checkpoint` or `parked`. */
  readonly asks?: readonly NewApproval[] | undefined;
  /** Releases the claim despite further events, because the gateway is stopping. */
  readonly isLast?: boolean | undefined;
}

export interface Committed {
  /** False if the claim was lost; the result was not stored. */
  readonly isCurrent: boolean;
  /**
   * Next event of the key, under the same claim. Undefined if the claim was released; remaining events need a
   * new claim.
   */
  readonly next: StoredEvent | undefined;
  /** Attempt number after a checkpoint. */
  readonly attempt?: number | undefined;
  /**
   * Reason why the event was not parked. The result is not stored, and the claim stays for another result.
   */
  readonly refusal?: string | undefined;
}

/** Processing status of an event. */
export interface EventStatus {
  readonly id: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** Number of journal steps. */
  readonly steps: number;
}

export interface Lease {
  readonly epoch: number;
}

export interface Owner extends Lease {
  readonly node: string;
  readonly address: string;
}

export interface VersionedValue {
  readonly value: string;
  readonly version: number;
}

export interface PutOptions {
  readonly ttlMs?: number;
  readonly ifAbsent?: boolean;
  readonly ifVersion?: number;
}

export interface Store extends AccessKeyStore {
  /** Cluster of nodes that share the store; undefined for a single-process engine. */
  readonly cluster?: Cluster | undefined;
  /** Returns the engine's time, epoch milliseconds. */
  now(): number;
  /**
   * Returns `now` without the steps that moved due dates (S8): for durations that continue after a restart or
   * at another node.
   */
  steady(): number;
  /**
   * Appends all events or none. Throws OverloadedError if too many events wait, StoreUnavailableError if the
   * store cannot write.
   */
  append(events: readonly NewEvent[], options?: AppendOptions): Promise<readonly AppendOutcome[]>;
  /**
   * Claims up to `max` mailboxes whose first event is due, longest due first; fewer if the bodies are large.
   * `keyPrefix` restricts the keys. Also appends the events of due timers.
   */
  claim(max: number, leaseMs: number, keyPrefix?: string): Promise<readonly Turn[]>;
  /**
   * Extends claims, and returns the claims that are still valid. A commit that returns `next` also extends
   * its claim.
   */
  renew(turns: readonly TurnRef[], leaseMs: number): Promise<readonly TurnRef[]>;
  /** Commits each result in a separate transaction (S5); several may share one disk write. */
  commit(results: readonly TurnResult[]): Promise<readonly Committed[]>;

  /** Acquires or renews a lease; undefined if another node owns it. A changed address starts a new epoch. */
  lease(name: string, node: string, address: string, ttlMs: number): Promise<Lease | undefined>;
  owner(name: string): Promise<Owner | undefined>;

  /** Records a tick of `name` at `at` (epoch ms) and appends the event. Returns false if that tick exists. */
  tick(name: string, at: number, event: NewEvent): Promise<boolean>;
  lastTick(name: string): Promise<number | undefined>;
  /**
   * Removes all ticks of the name, or with `after` (epoch ms) only later ticks. For unused names, and for a
   * clock that moved backwards. Events appended by the ticks stay.
   */
  forgetTicks(name: string, after?: number): Promise<void>;

  /** Returns false if a condition in the options fails. */
  put(space: string, key: string, value: string, options?: PutOptions): Promise<boolean>;
  get(space: string, key: string): Promise<VersionedValue | undefined>;
  delete(space: string, key: string): Promise<void>;
  keys(space: string): Promise<readonly string[]>;

  /** Returns the status of known ids, unordered. Undefined for a single-process engine. */
  statuses?(ids: readonly string[]): Promise<readonly EventStatus[]>;

  /**
   * Returns up to `limit` deliveries without their answers, newest first, scanning as many records as
   * necessary.
   */
  deliveries(filter: DeliveryFilter): Promise<readonly Delivery[]>;
  /**
   * Like `deliveries`, but scans a limited number of records, and is limited to about a megabyte: a page can
   * be short or empty even if more pages follow.
   */
  deliveryPage(filter: DeliveryFilter): Promise<DeliveryPage>;
  delivery(
    id: string,
  ): Promise<(Delivery & { readonly meta: string; readonly body: Uint8Array }) | undefined>;
  /**
   * Restarts a delivery that is done, dead, ignored or waiting, at its old position, with a new attempt
   * count. Returns false for any other delivery. Events that it already emitted are duplicates and have no
   * effect. With `keepsJournal` it continues with its saved state, journal and pending approvals.
   */
  requeue(id: string, options?: { readonly keepsJournal?: boolean }): Promise<boolean>;
  /**
   * Returns journal steps with a number above `after`, limited to a few megabytes; empty without a journal.
   */
  steps(id: string, after?: number): Promise<readonly Step[]>;
  /** Has the limits and omissions of `deliveryPage`. */
  runs(filter: RunFilter): Promise<RunPage>;
  run(id: string): Promise<Run | undefined>;
  /** Newest first; a page is limited to about a megabyte (`nextApprovals`, list-parts.ts). */
  approvals(filter: ApprovalFilter): Promise<readonly StoredApproval[]>;
  approval(id: string): Promise<StoredApproval | undefined>;
  /** Records the first decision; later decisions have no effect. Undefined if unknown. */
  decide(id: string, decision: NewDecision): Promise<DecidedApproval | undefined>;
  /**
   * Marks the done deliveries with these receipts as dead, with the note; deliveries in other states stay
   * unchanged. `keyPrefix` restricts the keys. Returns the id per receipt, undefined if unknown.
   */
  undeliver(keyPrefix: string, messages: readonly Undelivered[]): Promise<readonly (string | undefined)[]>;
  /** Returns the id of the newest delivery with this receipt; undefined if there is none. */
  withReceipt(keyPrefix: string, receipt: string): Promise<string | undefined>;
  /**
   * Marks a `queued`, `retrying`, `held`, `waiting` or `dead` delivery as `ignored`. Returns false for any
   * other delivery. The effects are part of the same transaction; a dead delivery has none, because it
   * already finished.
   */
  discard(id: string, note: string, effects?: Pick<TurnResult, 'emit' | 'cancelTimers'>): Promise<boolean>;
  /**
   * Releases the first `max` events of the holder `heldBy`: a trigger or another name. Returns the number of
   * affected mailboxes.
   */
  release(heldBy: string, max?: number): Promise<number>;
  /** Returns the names of all holders. */
  holders(): Promise<readonly string[]>;
  counts(): Promise<DeliveryCounts>;
  usage(): Promise<EventUsage>;

  /** Adds a listener, called when events can possibly be claimed. Returns a function that removes it. */
  wake(onWake: () => void): () => void;
  /**
   * Deletes expired rows: records of finished deliveries, values, leases, and ticks except the last tick per
   * name. Returns the number of rows.
   */
  sweep(): Promise<number>;
  close(): Promise<void>;
}
