// Appends events to their mailboxes in the embedded engine. Checks the capacity limit, and claims an event
// that arrives at an idle mailbox. Duplicates, and events that only wake a parked event, use no capacity,
// since they add no unfinished event. A dead event is requeued when its id is appended once again
// (`revived`).

import { OverloadedError } from '../../base/errors/errors.ts';
import type { NewEvent } from '../event.ts';
import { toStorableText } from '../record-texts.ts';
import type { SqliteDeliveries } from '../sqlite/deliveries.ts';
import type { SqliteSnapshots } from '../sqlite/snapshots.ts';
import type { AppendResult } from '../sync-store.ts';
import { acceptanceLimit, canWaitAny } from '../waiting-shares.ts';
import { WaitingTally } from '../waiting-tally.ts';
import type { Mailboxes } from './mailboxes.ts';
import type { ParkedEvents } from './parked-events.ts';

export class Appender {
  readonly #deliveries: SqliteDeliveries;
  readonly #mailboxes: Mailboxes;
  readonly #snapshots: SqliteSnapshots;
  readonly #parkedEvents: ParkedEvents;
  /** Maximum number of unfinished events. */
  readonly #maxWaiting: number;

  constructor(
    deliveries: SqliteDeliveries,
    mailboxes: Mailboxes,
    snapshots: SqliteSnapshots,
    parkedEvents: ParkedEvents,
    maxWaiting: number,
  ) {
    this.#deliveries = deliveries;
    this.#mailboxes = mailboxes;
    this.#snapshots = snapshots;
    this.#parkedEvents = parkedEvents;
    this.#maxWaiting = maxWaiting;
  }

  /** Throws OverloadedError if the new events exceed the capacity or a share (../waiting-shares.ts). */
  checkCapacity(events: readonly NewEvent[]): void {
    const { unfinished } = this.#deliveries;
    const limit = acceptanceLimit(events, this.#maxWaiting);
    if (canWaitAny(unfinished.total, events.length, limit)) return;
    const added = events.filter(({ id, key, wakes, isOnce }) => {
      if (wakes !== undefined && this.#parkedEvents.isAwaited(toStorableText(key), wakes)) return false;
      // A duplicate adds no event, unless it requeues a dead event.
      const state = this.#deliveries.find(id)?.state;
      return state === undefined || (state === 'dead' && isOnce !== true);
    });
    const refusal = new WaitingTally(unfinished, this.#maxWaiting).add(events, added);
    if (refusal !== undefined) throw new OverloadedError(refusal);
  }

  add(event: NewEvent, now: number): AppendResult {
    const { seq, key, outcome, state } = this.#deliveries.add(event, false, now);
    if (outcome === 'revived') return this.#requeueRevived(seq, key, now);
    if (outcome !== 'new') return { outcome, state };
    if (event.wakes !== undefined && this.#parkedEvents.onQueued(seq, key, now))
      return { outcome, state: 'done' };
    this.#mailboxes.addEvent(key, now);
    return { outcome, state };
  }

  /** Like `add`, but claims an event that arrives at an idle mailbox for `claimMs`. */
  addClaimed(event: NewEvent, claimMs: number, now: number): AppendResult {
    const { key } = event;
    // No claim for an event whose texts the store changes: only a later `claim` returns the texts as stored.
    if (!this.#mailboxes.isFree(key) || event.wakes !== undefined || !isStorable(event))
      return this.add(event, now);
    const { seq, outcome, state, key: storedKey } = this.#deliveries.add(event, true, now);
    if (outcome === 'revived') return this.#requeueRevived(seq, storedKey, now);
    if (outcome !== 'new') return { outcome, state };
    const fence = this.#mailboxes.addClaimedEvent(key, seq, claimMs, now);
    return { outcome, state, claimed: { fence, seq, at: now, snapshot: this.#snapshots.get(key) } };
  }

  #requeueRevived(seq: number, key: string, now: number): AppendResult {
    if (this.#parkedEvents.onQueued(seq, key, now)) return { outcome: 'revived', state: 'done' };
    this.#mailboxes.reschedule(key, now);
    return { outcome: 'revived', state: 'queued' };
  }
}

/** Returns true if the file stores the texts unchanged. */
function isStorable({ id, key, trace, meta }: NewEvent): boolean {
  return [id, key, trace, meta].every((text) => toStorableText(text) === text);
}
