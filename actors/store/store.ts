// Where accepted events live until they are handled: mailboxes by key, their events in order, snapshots, timers, leases,
// and the record of every delivery. One interface, so that an engine can be exchanged; the conformance suite in
// test/fixtures/store/store-conformance.ts says in code what stands here in words. A promise resolves after a durable commit only.
//
// S1   an event that `append` acknowledged is found again after kill -9 of the process, and after power loss as far
//      as the disk tells the truth.
// S2   the same id twice within the retention is one event; only one that had died runs again, unless it says that it may not.
// S3   at most one unexpired claim per key; fences of a key only grow; a commit with an old fence changes nothing. A claim
//      that ran out is lost only when another one is given.
// S4   events of one key are claimed in the order of `seq`, each when the one before is out of the way.
// S5   what one commit says happens together or not at all: the event's outcome, snapshot, emitted events, timers.
// S6   a lease's epoch grows at each change of owner.
// S7   one (name, instant) ticks once, unless that is forgotten.
// S8   the engine's clock decides what is due or expired.
// S9   `append` never waits for a handler; a store that is full or cannot write refuses, and acknowledges nothing. What a
//      commit emits is never refused for want of room: the event it comes from would stay for ever.
// S10  `wake` may come late, twice or not at all without effect beyond delay.
// S11  an event that ran when the process ended waits for a pause, which begins anew at each start, and then for those that are
//      suspected as it is; that it ran is an attempt, and a crash. What has ended the process too often is still given a
//      few times, to be given up; what ends it in that as well is dead.
// S12  a checkpoint is kept: the event goes on under its claim, and each later attempt begins with what it kept. One that had
//      died and comes again begins without that, but with its journal.
// S13  an event that is parked has no claim and no attempt until the first event of its key that wakes by its name is there,
//      before or after the park. That one never runs, and ends with it; it wakes one event, once.
// S14  while a parked event holds its key nothing of the key runs, but what wakes it does so.
// S15  rows of a journal are numbered without a gap, and never change; those of a lost claim are not among them. Only a
//      replay drops them, and the sweep of their event.
// S16  an approval is decided once. One whose event has ended, or begins anew, is not pending.

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
  Undelivered,
} from './delivery.ts';
import type { NewEvent, StoredEvent } from './event.ts';
import type { Cluster } from './membership.ts';
import type { Run, RunFilter, RunNote, RunPage, Step } from './run.ts';

export interface AppendOptions {
  /**
   * Claims at once what comes to a mailbox with nothing unfinished in it, for so long: that saves the way of a `claim`. A
   * store may leave it to the next one.
   */
  readonly claimMs?: number | undefined;
}

export interface Appended {
  readonly id: string;
  /** `revived`: the same delivery was dead, and runs again. */
  readonly outcome: 'new' | 'duplicate' | 'revived';
  readonly state: DeliveryState;
  /** As `claim` would have given it: only with `claimMs`, and then for a new event only. */
  readonly turn?: Turn | undefined;
}

/** A claim on a mailbox. */
export interface TurnRef {
  readonly key: string;
  readonly fence: number;
}

/** One event to be handled, by whoever holds the claim, before any other of its key. */
export interface Turn extends TurnRef {
  readonly event: StoredEvent;
  /** What the last turn of this key left behind. */
  readonly snapshot: string | undefined;
}

export interface NewTimer {
  /** Unique within the key; the same id again moves it. */
  readonly id: string;
  readonly inMs: number;
  /** Appended to its key when due; its id must be new each time. */
  readonly event: NewEvent;
}

export interface TurnResult extends TurnRef {
  readonly seq: number;
  /**
   * `retrying`, `deferred`, `held` and `queued` leave the event first in its mailbox; the latter three were no attempts:
   * `queued` gives back what was not tried to its end, or with `heldBy` what has to wait until that lets it go; `deferred` is
   * what could not begin yet, and `retrying` until then. After `checkpoint` the turn goes on, with all attempts before it
   * but for one that keeps the same as the last; `parked` takes the event out of the way until `parkedOn` is woken. The
   * others are final.
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
  /** With `checkpoint` and `parked`: what is kept for the next attempt. Undefined leaves it as it is, null removes it. */
  readonly state?: string | null | undefined;
  /** With `parked`: the name that wakes it, unique among what waits in its key. */
  readonly parkedOn?: string | undefined;
  /** With `parked`: nothing else of the key runs meanwhile. */
  readonly holdsKey?: boolean | undefined;
  /** With `retrying` and `deferred`: the pause. */
  readonly retryInMs?: number | undefined;
  /** With `deferred`: what the event is to say at its next turn. Where nothing was done that is what it said. */
  readonly wasClaimed?: boolean | undefined;
  /** With `held` the trigger whose resumption lets it go on, with `queued` another name that is to be released. */
  readonly heldBy?: string | undefined;
  /** For the record: which trigger took it, why it ended so, what was answered. Bounded by the store. */
  readonly trigger?: string | undefined;
  readonly note?: string | undefined;
  readonly answer?: string | undefined;
  /** Who answered, for the log alone: it is not stored. */
  readonly by?: string | undefined;
  /** What a platform calls the message that was sent: an edit of it finds it so. Undefined leaves the one that is there. */
  readonly receipt?: string | undefined;
  /** Undefined leaves the snapshot as it is, null removes it. */
  readonly snapshot?: string | null | undefined;
  readonly emit?: readonly NewEvent[] | undefined;
  readonly timers?: readonly NewTimer[] | undefined;
  readonly cancelTimers?: readonly string[] | undefined;
  /** Rows for the journal of the event, JSON text each. */
  readonly steps?: readonly string[] | undefined;
  /** What lists show of the event as a run, from now on; what has rows has to have been given one. */
  readonly run?: RunNote | undefined;
  /** With `checkpoint` and `parked`: approvals that are pending from now on, until somebody decides or the event ends. */
  readonly asks?: readonly NewApproval[] | undefined;
  /** Gives the claim back although more may wait: the gateway is stopping. */
  readonly isLast?: boolean | undefined;
}

export interface Committed {
  /** False: the claim had been lost, and nothing of the result was taken. */
  readonly isCurrent: boolean;
  /** The next event of the key, under the same claim. Undefined: the claim is over, and what is left is claimed anew. */
  readonly next: StoredEvent | undefined;
  /** After a checkpoint: as which attempt the turn goes on. */
  readonly attempt?: number | undefined;
}

/** How far an event has come. */
export interface Standing {
  readonly id: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** Rows of its journal. */
  readonly steps: number;
}

export interface Lease {
  readonly epoch: number;
}

export interface Owner extends Lease {
  readonly node: string;
  readonly address: string;
}

export interface Versioned {
  readonly value: string;
  readonly version: number;
}

export interface PutOptions {
  readonly ttlMs?: number;
  readonly ifAbsent?: boolean;
  readonly ifVersion?: number;
}

export interface Store {
  /** The nodes that work on it; undefined where no other can. */
  readonly cluster?: Cluster | undefined;
  /** Epoch ms by the clock that decides what is due, where that is another machine's; undefined where it is this one's. */
  now?(): number;
  /** All or none. Throws OverloadedError beyond the bound of events that wait, StoreUnavailableError when it cannot write. */
  append(events: readonly NewEvent[], options?: AppendOptions): Promise<readonly Appended[]>;
  /**
   * Claims up to `max` mailboxes with an event that is due, those that have been due longest first, and fewer when their
   * bodies are large; with `keyPrefix` of those only whose keys begin so. Timers that are due become events here.
   */
  claim(max: number, leaseMs: number, keyPrefix?: string): Promise<readonly Turn[]>;
  /** Prolongs claims from now on; gives those that are still held. `commit` prolongs one with `next` by the same time. */
  renew(turns: readonly TurnRef[], leaseMs: number): Promise<readonly TurnRef[]>;
  /** One transaction each (S5); several may share one write to disk. */
  commit(results: readonly TurnResult[]): Promise<readonly Committed[]>;

  /** Takes or prolongs a lease; undefined while another node holds it. From another address it is taken anew. */
  lease(name: string, node: string, address: string, ttlMs: number): Promise<Lease | undefined>;
  owner(name: string): Promise<Owner | undefined>;

  /** Notes that `name` ticked at `at` (epoch ms) and appends the event, unless it had ticked then already. */
  tick(name: string, at: number, event: NewEvent): Promise<boolean>;
  lastTick(name: string): Promise<number | undefined>;
  /**
   * As if the name had never ticked, or with `after` (epoch ms) not later than that: for one that nobody will use again, or
   * whose clock was set back. What its ticks appended stays.
   */
  forgetTicks(name: string, after?: number): Promise<void>;

  /** Gives false when a condition did not hold. */
  put(space: string, key: string, value: string, options?: PutOptions): Promise<boolean>;
  get(space: string, key: string): Promise<Versioned | undefined>;
  delete(space: string, key: string): Promise<void>;
  keys(space: string): Promise<readonly string[]>;

  /** Of those that are known, in any order; undefined where no other node handles events. */
  standings?(ids: readonly string[]): Promise<readonly Standing[]>;

  /** The newest first, up to `limit`, however many records have to be looked at for that. */
  deliveries(filter: DeliveryFilter): Promise<readonly Delivery[]>;
  /** The same of a bounded number of records: there may be fewer than `limit`, or none, and yet more beyond. */
  deliveryPage(filter: DeliveryFilter): Promise<DeliveryPage>;
  delivery(
    id: string,
  ): Promise<(Delivery & { readonly meta: string; readonly body: Uint8Array }) | undefined>;
  /**
   * Has a delivery that is done, dead, ignored or waiting run again from its beginning, in its old place and with all its
   * attempts before it; false for any other. What it emitted before keeps its ids, and is not emitted twice. With `keepsJournal`
   * it goes on where it was instead: what was kept of it, its journal and what it waits to be approved stay.
   */
  requeue(id: string, options?: { readonly keepsJournal?: boolean }): Promise<boolean>;
  /** The rows of its journal after the first `after`, as many as fit into some megabytes; none for one without. */
  steps(id: string, after?: number): Promise<readonly Step[]>;
  /** Of a bounded number of records: there may be fewer than `limit`, or none, and yet more beyond. */
  runs(filter: RunFilter): Promise<RunPage>;
  run(id: string): Promise<Run | undefined>;
  /** The newest first. */
  approvals(filter: ApprovalFilter): Promise<readonly StoredApproval[]>;
  approval(id: string): Promise<StoredApproval | undefined>;
  /** The first decision counts. Undefined for one that is not known. */
  decide(id: string, decision: NewDecision): Promise<DecidedApproval | undefined>;
  /**
   * What is done with that receipt, in a key that begins so, has not arrived: it is dead, with the note. One that is not done any
   * more stays as it is. Gives the ids of those that have the receipt, undefined where nothing has it.
   */
  undeliver(keyPrefix: string, messages: readonly Undelivered[]): Promise<readonly (string | undefined)[]>;
  /** The newest that has that receipt in a key that begins so, by its id; undefined where nothing has it. */
  withReceipt(keyPrefix: string, receipt: string): Promise<string | undefined>;
  /**
   * Ends a delivery that waits for anything, is held or dead as `ignored`; false for any other. What is to happen with it happens
   * together with it, but nothing for one that was dead: that has had its end.
   */
  discard(id: string, note: string, effects?: Pick<TurnResult, 'emit' | 'cancelTimers'>): Promise<boolean>;
  /**
   * Lets go on what was held by that name; with `max` so many events at most, those that were accepted first. Gives how many
   * mailboxes held something so, first in them or not, claimed or not.
   */
  release(heldBy: string, max?: number): Promise<number>;
  /** The names by which anything is held. */
  holders(): Promise<readonly string[]>;
  counts(): Promise<DeliveryCounts>;

  /** Calls `onWake` when there may be something to claim. Gives the way to stop that. */
  wake(onWake: () => void): () => void;
  /** Removes what is beyond its time: records of ended deliveries, values, leases, ticks but the last. Gives how many rows. */
  sweep(): Promise<number>;
  close(): Promise<void>;
}
