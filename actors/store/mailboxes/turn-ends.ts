// What becomes of events: by the commit of their turn, or by an operator, who ends one that has no turn or has it begin again. All that
// is to happen with it happens in the same transaction (S5).

import { storable } from '../record-texts.ts';
import type { SqliteDeliveries } from '../sqlite/deliveries.ts';
import type { RunRecords } from '../sqlite/runs.ts';
import type { SqliteSnapshots } from '../sqlite/snapshots.ts';
import type { SqliteTimers } from '../sqlite/timers.ts';
import type { SqliteWaits } from '../sqlite/waits.ts';
import type { Committed, Store, TurnResult } from '../store.ts';
import type { Appender } from './appender.ts';
import type { Mailboxes } from './mailboxes.ts';
import type { Waits } from './waits.ts';

export interface TurnEndsOptions {
  readonly deliveries: SqliteDeliveries;
  readonly mailboxes: Mailboxes;
  readonly waits: Waits;
  readonly progress: Pick<SqliteWaits, 'checkpoint'>;
  readonly timers: SqliteTimers;
  readonly snapshots: SqliteSnapshots;
  readonly runs: RunRecords;
  readonly appender: Appender;
  /** Bodies that one commit gives out together; one may go beyond. */
  readonly maxBytes: number;
}

type RequeueOptions = Parameters<Store['requeue']>[1];
type DiscardEffects = Parameters<Store['discard']>[2];

export class TurnEnds {
  readonly #options: TurnEndsOptions;

  constructor(options: TurnEndsOptions) {
    this.#options = options;
  }

  /** Throws InternalError where a journal has no room, before anything is written. */
  commit(results: readonly TurnResult[], now: number): readonly Committed[] {
    const { runs, maxBytes } = this.#options;
    for (const result of results) runs.journals.checkRoom(result);
    let bytes = 0;
    return results.map((result) => {
      // What is more than one call may bring waits for a claim.
      const committed = this.#commit(bytes > maxBytes ? { ...result, isLast: true } : result, now);
      bytes += committed.next?.body.byteLength ?? 0;
      return committed;
    });
  }

  #commit(result: TurnResult, now: number): Committed {
    const { mailboxes, waits, progress, deliveries, runs, snapshots, timers, appender } = this.#options;
    const key = storable(result.key);
    if (!mailboxes.isCurrent(key, result)) return { isCurrent: false, next: undefined };
    let attempt: number | undefined;
    if (result.outcome === 'checkpoint') attempt = progress.checkpoint(result);
    else if (result.outcome !== 'parked') deliveries.settle(result, now);
    runs.keep(result, now);
    if (result.snapshot !== undefined) snapshots.keep(key, result.snapshot, now);
    for (const name of result.cancelTimers ?? []) timers.cancel(key, name);
    for (const timer of result.timers ?? []) timers.set(key, timer, now);
    for (const event of result.emit ?? []) appender.add(event, now);
    if (attempt !== undefined) {
      mailboxes.goOn(key, now);
      return { isCurrent: true, next: undefined, attempt };
    }
    if (result.outcome === 'parked') waits.park(result, key, now);
    return { isCurrent: true, next: mailboxes.advance(key, result, now) };
  }

  /** As the store says. */
  requeue(id: string, { keepsJournal = false }: RequeueOptions = {}, now: number): boolean {
    const { deliveries, waits, runs, mailboxes } = this.#options;
    const found = deliveries.find(id);
    if (found === undefined || !['done', 'dead', 'ignored', 'waiting'].includes(found.state)) return false;
    const { seq, key, state } = found;
    if (state === 'waiting') waits.end(seq, key);
    deliveries.again(seq, state, keepsJournal);
    if (!keepsJournal) {
      runs.end(seq, now);
      runs.remove(seq);
    }
    if (!waits.onQueued(seq, key, now)) mailboxes.reconsider(key, now);
    return true;
  }

  /** As the store says. */
  discard(id: string, note: string, effects: DiscardEffects = {}, now: number): boolean {
    const { deliveries, waits, timers, appender, mailboxes } = this.#options;
    const found = deliveries.find(id);
    if (found === undefined || !['queued', 'retrying', 'held', 'waiting', 'dead'].includes(found.state))
      return false;
    const { seq, key, state } = found;
    if (state === 'waiting') waits.end(seq, key);
    deliveries.ignore(seq, state, note, now);
    if (state === 'dead') return true;
    for (const name of effects.cancelTimers ?? []) timers.cancel(key, name);
    for (const event of effects.emit ?? []) appender.add(event, now);
    mailboxes.reconsider(key, now);
    return true;
  }
}
