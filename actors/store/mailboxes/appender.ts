// Appends events to their mailboxes while there is room for them, and claims an event at once where its mailbox is free.
//
// AP1  repetitions of what is known are answered even when there is no room, and so is what wakes an event that waits: nothing
//      is added for them.

import { OverloadedError } from '../../base/errors/errors.ts';
import type { NewEvent } from '../event.ts';
import type { Entered } from '../ledger.ts';
import { storable } from '../record-texts.ts';
import type { SqliteDeliveries } from '../sqlite/deliveries.ts';
import type { SqliteSnapshots } from '../sqlite/snapshots.ts';
import type { Mailboxes } from './mailboxes.ts';
import type { Waits } from './waits.ts';

export class Appender {
  readonly #deliveries: SqliteDeliveries;
  readonly #mailboxes: Mailboxes;
  readonly #snapshots: SqliteSnapshots;
  readonly #waits: Waits;
  /** Bound of events that wait or run. */
  readonly #maxWaiting: number;

  constructor(
    deliveries: SqliteDeliveries,
    mailboxes: Mailboxes,
    snapshots: SqliteSnapshots,
    waits: Waits,
    maxWaiting: number,
  ) {
    this.#deliveries = deliveries;
    this.#mailboxes = mailboxes;
    this.#snapshots = snapshots;
    this.#waits = waits;
    this.#maxWaiting = maxWaiting;
  }

  /** Throws OverloadedError where there is no room for what is new among them. */
  checkRoom(events: readonly NewEvent[]): void {
    const { unfinished } = this.#deliveries;
    if (unfinished + events.length <= this.#maxWaiting) return;
    const added = new Set<string>();
    for (const { id, key, wakes, isOnce } of events) {
      if (wakes !== undefined && this.#waits.isAwaited(storable(key), wakes)) continue;
      const state = this.#deliveries.find(id)?.state;
      if (state === undefined || (state === 'dead' && isOnce !== true)) added.add(storable(id));
    }
    if (added.size > Math.max(0, this.#maxWaiting - unfinished))
      throw new OverloadedError(`the store holds ${unfinished} events that wait; try again later`);
  }

  add(event: NewEvent, now: number): Entered {
    const { seq, key, outcome, state } = this.#deliveries.add(event, false, now);
    if (outcome === 'revived') return this.#revived(seq, key, now);
    if (outcome !== 'new') return { outcome, state };
    if (event.wakes !== undefined && this.#waits.onQueued(seq, key, now)) return { outcome, state: 'done' };
    this.#mailboxes.open(key, now);
    return { outcome, state };
  }

  /** The same, but what comes to a free mailbox is claimed for `claimMs`. */
  addClaimed(event: NewEvent, claimMs: number, now: number): Entered {
    const { key } = event;
    // What is not kept as it was given is given out by the next claim.
    if (!this.#mailboxes.isFree(key) || event.wakes !== undefined || !isStorable(event))
      return this.add(event, now);
    const { seq, outcome, state, key: keptAs } = this.#deliveries.add(event, true, now);
    if (outcome === 'revived') return this.#revived(seq, keptAs, now);
    if (outcome !== 'new') return { outcome, state };
    const fence = this.#mailboxes.openClaimed(key, seq, claimMs, now);
    return { outcome, state, claimed: { fence, seq, at: now, snapshot: this.#snapshots.get(key) } };
  }

  #revived(seq: number, key: string, now: number): Entered {
    if (this.#waits.onQueued(seq, key, now)) return { outcome: 'revived', state: 'done' };
    this.#mailboxes.reconsider(key, now);
    return { outcome: 'revived', state: 'queued' };
  }
}

/** Whether the file keeps it as it is. */
function isStorable({ id, key, trace, meta }: NewEvent): boolean {
  return [id, key, trace, meta].every((text) => storable(text) === text);
}
