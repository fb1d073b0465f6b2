// Limits how many events are at work at the same time for each agent (or each platform that answers go to) and for each
// trigger, so that one that hangs leaves places to others. Whom an event is for is known only when it has been read. So
// an event for which there is no place is given back to the store under the name of what it waits for, and released when
// a place is free; until then it costs neither an attempt nor a place.
//
// PC1 (A8)  what runs takes no more places, and no more bytes of memory, than there are; an overrun keeps what it has.
// PC2 (A6)  nobody gets all of them (actors/base/bounds/budget.ts), and of what waits, who has least goes first.
// PC3  what waits for the same is let go in the order in which it was accepted, and what came later waits behind it.
// PC4  what was let go and did not come, or could not be let go, holds up others until the second look after it at most.

import { Budget, Share } from '../../base/bounds/budget.ts';
import type { StoredEvent } from '../../store/event.ts';

export interface WorkPlacesOptions {
  readonly places: number;
  /** The memory for bodies. One that is larger than a quarter of this counts as a quarter, or it would never be handled. */
  readonly bytes: number;
  /** See Store. */
  release(heldBy: string, max?: number): Promise<number>;
}

/** The place of one run, which gives it back once, at its end. */
export interface Place {
  end(): void;
}

/** Names of triggers have neither blanks nor colons. */
const GROUP = 'place: ';

/** Whether that is the name of what waits for a place, on whichever node. */
export const isGroupName = (name: string) => name.startsWith(GROUP);

/** How often waiting events are looked for although no run has ended. */
const LOOK_MS = 1_000;

/** One who has places: an agent, a platform, or a trigger. */
class Holder {
  readonly places = new Share();
  readonly bytes = new Share();
  /** Events that were released for it and have not come yet. */
  coming = 0;

  get isIdle(): boolean {
    return this.places.held === 0 && this.coming === 0;
  }
}

/** The events of one trigger for one agent or platform. */
class Group {
  readonly name: string;
  readonly whom: Holder;
  readonly trigger: Holder;
  /** Events that the store holds for this group. */
  waiting = 0;
  coming = 0;
  /** No event of the group has come since the last look. */
  isStale = false;
  /** The last event that had to wait. */
  lastSeq = 0;
  /** The size of the last event for which there was not enough memory: such events are released one by one. */
  large = 0;

  constructor(name: string, whom: Holder, trigger: Holder) {
    this.name = name;
    this.whom = whom;
    this.trigger = trigger;
  }

  /** The places that it has, or is about to have. */
  get load(): number {
    const { whom, trigger } = this;
    return whom.places.held + whom.coming + trigger.places.held + trigger.coming;
  }
}

export class WorkPlaces {
  readonly #options: WorkPlacesOptions;
  readonly #places: Budget;
  readonly #bytes: Budget;
  // Both are bounded by the number of agents, platforms and triggers, and removed with these.
  readonly #holders = new Map<string, Holder>();
  readonly #groups = new Map<string, Group>();
  #waiting = 0;
  #coming = 0;
  #isScheduled = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: WorkPlacesOptions) {
    this.#options = options;
    this.#places = new Budget(options.places);
    this.#bytes = new Budget(options.bytes);
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** Nothing is released any more. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /**
   * A place for an event of that trigger at that agent or platform; a text where there is none: the event is to be held by
   * this name.
   */
  take(whom: string, trigger: string, { seq, body }: StoredEvent): Place | string {
    const group = this.#group(whom, trigger);
    const isLate = group.waiting + group.coming > 0 && seq > group.lastSeq;
    if (!isLate && group.coming > 0) this.#expect(group, -1);
    const bytes = Math.min(body.byteLength, this.#bytes.total >> 2);
    if (isLate || !this.#take(group, bytes)) {
      group.lastSeq = Math.max(group.lastSeq, seq);
      return group.name;
    }
    return {
      end: () => {
        this.#places.give(1, group.whom.places, group.trigger.places);
        this.#bytes.give(bytes, group.whom.bytes, group.trigger.bytes);
        this.#goOn();
      },
    };
  }

  /** An event is now held by that name. False for a name that is none of a group. */
  onHeld(name: string): boolean {
    const group = this.#groups.get(name);
    if (group === undefined) return false;
    this.#wait(group, 1);
    this.#goOn();
    return true;
  }

  /** Agents and triggers may have changed: everything that waits is released, and judged anew. */
  judgeAnew(): void {
    for (const [name, group] of this.#groups) {
      const { waiting, coming, whom, trigger } = group;
      this.#wait(group, -waiting);
      this.#expect(group, -coming);
      if (waiting > 0) void this.#letGo(group, undefined);
      if (whom.isIdle || trigger.isIdle) this.#groups.delete(name);
    }
    for (const [name, holder] of this.#holders) if (holder.isIdle) this.#holders.delete(name);
  }

  #group(whom: string, trigger: string): Group {
    // Names of triggers have neither blanks nor colons, so that no trigger has the name of a group.
    const name = `${GROUP}${trigger} at ${whom}`;
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = new Group(name, this.#holder(`at ${whom}`), this.#holder(trigger));
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

  #take(group: Group, bytes: number): boolean {
    const { whom, trigger } = group;
    if (!this.#places.take(1, whom.places, trigger.places)) return false;
    if (this.#bytes.take(bytes, whom.bytes, trigger.bytes)) {
      group.large = 0;
      return true;
    }
    this.#places.give(1, whom.places, trigger.places);
    group.large = bytes;
    return false;
  }

  #wait(group: Group, count: number): void {
    group.waiting += count;
    this.#waiting += count;
  }

  #expect(group: Group, count: number): void {
    group.coming += count;
    group.whom.coming += count;
    group.trigger.coming += count;
    this.#coming += count;
    group.isStale = false;
  }

  /** A place is free, or wanted; all changes within this tick are looked at together. */
  #goOn(): void {
    if (this.#waiting === 0 || this.#isScheduled || this.#timer === undefined) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#fill();
    });
  }

  /** Releases as many events as there is room for, beginning with the group that has least. */
  #fill(): void {
    const waiting = [...this.#groups.values()].filter((group) => group.waiting > 0);
    const granted = new Map<Group, number>();
    for (;;) {
      let next: Group | undefined;
      for (const group of waiting) {
        if (group.waiting === 0 || !this.#hasRoom(group)) continue;
        if (next === undefined || group.load < next.load) next = group;
      }
      if (next === undefined) break;
      this.#wait(next, -1);
      this.#expect(next, 1);
      granted.set(next, (granted.get(next) ?? 0) + 1);
    }
    for (const [group, count] of granted) void this.#letGo(group, count);
  }

  #hasRoom({ whom, trigger, coming, large }: Group): boolean {
    const free = this.#places.free - this.#coming;
    if (whom.places.held + whom.coming >= free || trigger.places.held + trigger.coming >= free) return false;
    if (large === 0) return true;
    return (
      coming === 0 && this.#bytes.hasRoom(large, whom.bytes) && this.#bytes.hasRoom(large, trigger.bytes)
    );
  }

  async #letGo(group: Group, count: number | undefined): Promise<void> {
    let missing = count ?? 0;
    try {
      missing -= await this.#options.release(group.name, count);
    } catch {
      // Whoever commits has told the log what is wrong with the store; it is tried again at the next look.
      this.#wait(group, count ?? 1);
    }
    // What was discarded meanwhile, say.
    const gone = Math.min(Math.max(0, missing), group.coming);
    if (gone > 0) this.#expect(group, -gone);
  }

  #look(): void {
    for (const group of this.#groups.values()) {
      if (group.isStale) this.#expect(group, -group.coming);
      group.isStale = group.coming > 0;
    }
    this.#goOn();
  }
}
