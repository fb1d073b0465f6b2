// Limits concurrent runs per receiver (agent or platform) and per trigger, so that a hanging receiver cannot
// use all slots (base/bounds/budget.ts). The receiver is not known before an event is claimed and read. If no
// slot is free, the event returns to the store and is queued there under its group's name (trigger and
// receiver). It uses no slot and counts as no attempt.
//
// When slots become free, queued events can be claimed again (`Store.release`), the group with the lowest
// load first. Such an event is claimed like every other event; meanwhile it counts as arriving and reserves a
// slot, for up to two checks. Events become claimable in the order of acceptance; later ones queue behind.
// An aborted run keeps its slot here until it really ends, also as a zombie run (work-queue.ts).

import { Budget, Share } from '../../base/bounds/budget.ts';
import { type LimitUsage, largestHolders } from '../../base/bounds/limit-usage.ts';
import type { StoredEvent } from '../../store/event.ts';

export interface WorkSlotsOptions {
  readonly slots: number;
  /**
   * Memory budget for event bodies. A larger body than a quarter of the budget counts as a quarter; otherwise
   * it could never run.
   */
  readonly bytes: number;
  /** Makes queued events of a slot group claimable again (`Store.release`). Returns their number. */
  release(groupName: string, max?: number): Promise<number>;
}

/** Slot of the run. `end` frees the slot. */
export interface WorkSlot {
  end(): void;
}

/**
 * Prefix of group names. The names are stored, so the word `place` must not change. Trigger names have
 * neither blanks nor colons.
 */
const GROUP = 'place: ';
/** Prefix of the receivers among the holders. Trigger names have no blanks. */
const RECEIVER = 'at ';

/** Returns whether the name belongs to a group, on any node. */
export const isSlotGroup = (name: string) => name.startsWith(GROUP);

/** Interval of checks for free slots and for released events that are not claimed. */
const CHECK_MS = 1_000;

/** Returns the name for operators. Names of receivers begin with `at `. */
const holderName = (name: string) =>
  name.startsWith(RECEIVER) ? name.slice(RECEIVER.length) : `trigger ${name}`;

/** Slots and bytes in use, per agent, platform or trigger. */
class Holder {
  readonly slots = new Share();
  readonly bytes = new Share();
  /** Number of events that were released in the store, but are not yet claimed. */
  arriving = 0;

  get isIdle(): boolean {
    return this.slots.used === 0 && this.arriving === 0;
  }
}

/** Events from a trigger to an agent or platform. */
class SlotGroup {
  readonly name: string;
  readonly receiver: Holder;
  readonly trigger: Holder;
  /** Number of queued events in the store. */
  waiting = 0;
  /** Number of events that were released in the store, but are not yet claimed. */
  arriving = 0;
  /** True if no released event was claimed since the last check. */
  isStale = false;
  /** Highest sequence number of the queued events. */
  lastSeq = 0;
  /** Size of the last event that exceeded the memory budget, else 0. Such events run singly. */
  large = 0;

  constructor(name: string, receiver: Holder, trigger: Holder) {
    this.name = name;
    this.receiver = receiver;
    this.trigger = trigger;
  }

  /** Number of used and reserved slots of the receiver and the trigger. */
  get load(): number {
    const { receiver, trigger } = this;
    return receiver.slots.used + receiver.arriving + trigger.slots.used + trigger.arriving;
  }
}

export class WorkSlots {
  readonly #options: WorkSlotsOptions;
  readonly #slots: Budget;
  readonly #bytes: Budget;
  // Bounded by the number of agents, platforms and triggers.
  readonly #holders = new Map<string, Holder>();
  readonly #groups = new Map<string, SlotGroup>();
  #waiting = 0;
  #arriving = 0;
  #isScheduled = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: WorkSlotsOptions) {
    this.#options = options;
    this.#slots = new Budget(options.slots);
    this.#bytes = new Budget(options.bytes);
    this.#timer = setInterval(() => this.#check(), CHECK_MS).unref();
  }

  /** Usage by trigger and by receiver. */
  get usage(): LimitUsage {
    const usages = [...this.#holders].map(([name, { slots }]) => [holderName(name), slots.used] as const);
    return { used: this.#slots.used, max: this.#slots.total, holders: largestHolders(usages) };
  }

  /** Stops the releases. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Returns a slot for the event, or the group name for queueing the event in the store. */
  take(receiver: string, trigger: string, { seq, body }: StoredEvent): WorkSlot | string {
    const group = this.#group(receiver, trigger);
    // Queued and arriving events of the group precede events that were accepted later. An event with a number
    // up to `lastSeq` was queued before, so it is one of the arriving events.
    const isLater = group.waiting + group.arriving > 0 && seq > group.lastSeq;
    if (!isLater && group.arriving > 0) this.#countArriving(group, -1);
    const bytes = Math.min(body.byteLength, this.#bytes.total >> 2);
    if (isLater || !this.#acquire(group, bytes)) {
      group.lastSeq = Math.max(group.lastSeq, seq);
      return group.name;
    }
    return {
      end: () => {
        this.#slots.release(1, group.receiver.slots, group.trigger.slots);
        this.#bytes.release(bytes, group.receiver.bytes, group.trigger.bytes);
        this.#scheduleCheck();
      },
    };
  }

  /** Records an event that was queued under the name. Returns false if the name is not a group name. */
  noteQueued(name: string): boolean {
    const group = this.#groups.get(name);
    if (group === undefined) return false;
    this.#countWaiting(group, 1);
    this.#scheduleCheck();
    return true;
  }

  /** Releases all queued events, after a change of agents and triggers. */
  releaseAll(): void {
    for (const [name, group] of this.#groups) {
      const { waiting, arriving, receiver, trigger } = group;
      this.#countWaiting(group, -waiting);
      this.#countArriving(group, -arriving);
      if (waiting > 0) void this.#release(group, undefined);
      if (receiver.isIdle || trigger.isIdle) this.#groups.delete(name);
    }
    for (const [name, holder] of this.#holders) if (holder.isIdle) this.#holders.delete(name);
  }

  #group(receiver: string, trigger: string): SlotGroup {
    const name = `${GROUP}${trigger} ${RECEIVER}${receiver}`;
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = new SlotGroup(name, this.#holder(RECEIVER + receiver), this.#holder(trigger));
      this.#groups.set(name, group);
    }
    return group;
  }

  #holder(name: string): Holder {
    let holder = this.#holders.get(name);
    if (holder === undefined) {
      holder = new Holder();
      this.#holders.set(name, holder);
    }
    return holder;
  }

  #acquire(group: SlotGroup, bytes: number): boolean {
    const { receiver, trigger } = group;
    if (!this.#slots.acquire(1, receiver.slots, trigger.slots)) return false;
    if (this.#bytes.acquire(bytes, receiver.bytes, trigger.bytes)) {
      group.large = 0;
      return true;
    }
    this.#slots.release(1, receiver.slots, trigger.slots);
    group.large = bytes;
    return false;
  }

  #countWaiting(group: SlotGroup, count: number): void {
    group.waiting += count;
    this.#waiting += count;
  }

  #countArriving(group: SlotGroup, count: number): void {
    group.arriving += count;
    group.receiver.arriving += count;
    group.trigger.arriving += count;
    this.#arriving += count;
    group.isStale = false;
  }

  /** Schedules a check for free slots; once per tick of the event loop. */
  #scheduleCheck(): void {
    if (this.#waiting === 0 || this.#isScheduled || this.#timer === undefined) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#fillFreeSlots();
    });
  }

  /** Releases as many queued events as there are free slots; the group with the lowest load first. */
  #fillFreeSlots(): void {
    const waiting = [...this.#groups.values()].filter((group) => group.waiting > 0);
    const releases = new Map<SlotGroup, number>();
    for (;;) {
      let next: SlotGroup | undefined;
      for (const group of waiting) {
        if (group.waiting === 0 || !this.#hasCapacity(group)) continue;
        if (next === undefined || group.load < next.load) next = group;
      }
      if (next === undefined) break;
      this.#countWaiting(next, -1);
      this.#countArriving(next, 1);
      releases.set(next, (releases.get(next) ?? 0) + 1);
    }
    for (const [group, count] of releases) void this.#release(group, count);
  }

  #hasCapacity({ receiver, trigger, arriving, large }: SlotGroup): boolean {
    // Same rule as in Budget: a holder may acquire a slot only while it uses fewer slots than are free.
    // Arriving events count as slots in use.
    const free = this.#slots.free - this.#arriving;
    if (receiver.slots.used + receiver.arriving >= free || trigger.slots.used + trigger.arriving >= free)
      return false;
    if (large === 0) return true;
    return (
      arriving === 0 &&
      this.#bytes.hasCapacity(large, receiver.bytes) &&
      this.#bytes.hasCapacity(large, trigger.bytes)
    );
  }

  /** Releases up to `count` queued events of the group in the store; undefined releases all. */
  async #release(group: SlotGroup, count: number | undefined): Promise<void> {
    let missing = count ?? 0;
    try {
      missing -= await this.#options.release(group.name, count);
    } catch {
      // Not logged: commits fail too if the store is unavailable, and committer.ts logs that. The next check
      // tries again.
      this.#countWaiting(group, count ?? 1);
    }
    // Events that will not arrive: the release failed, or they were discarded in the meantime.
    const unreleased = Math.min(Math.max(0, missing), group.arriving);
    if (unreleased > 0) this.#countArriving(group, -unreleased);
  }

  #check(): void {
    for (const group of this.#groups.values()) {
      if (group.isStale) this.#countArriving(group, -group.arriving);
      group.isStale = group.arriving > 0;
    }
    this.#scheduleCheck();
  }
}
