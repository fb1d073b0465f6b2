// Operations of the embedded engine that complete or restart events: commits, and the operator's `requeue`
// and `discard`. An operation and all its effects are one transaction (rule S5 in ../store.ts).

import { toStorableText } from '../record-texts.ts';
import type { SqliteDeliveries } from '../sqlite/deliveries.ts';
import type { SqliteParkedEvents } from '../sqlite/parked-events.ts';
import type { RunRecords } from '../sqlite/runs.ts';
import type { SqliteSnapshots } from '../sqlite/snapshots.ts';
import type { SqliteTimers } from '../sqlite/timers.ts';
import type { Committed, Store, TurnResult } from '../store.ts';
import type { Appender } from './appender.ts';
import type { Mailboxes } from './mailboxes.ts';
import type { ParkedEvents } from './parked-events.ts';

export interface CompletionsOptions {
  readonly deliveries: SqliteDeliveries;
  readonly mailboxes: Mailboxes;
  readonly parkedEvents: ParkedEvents;
  readonly progress: Pick<SqliteParkedEvents, 'checkpoint'>;
  readonly timers: SqliteTimers;
  readonly snapshots: SqliteSnapshots;
  readonly runs: RunRecords;
  readonly appender: Appender;
  /** Maximum bytes of bodies returned by one commit. The last body may exceed it. */
  readonly maxBytes: number;
}

type RequeueOptions = Parameters<Store['requeue']>[1];
type DiscardEffects = Parameters<Store['discard']>[2];

export class Completions {
  readonly #options: CompletionsOptions;

  constructor(options: CompletionsOptions) {
    this.#options = options;
  }

  /** Throws InternalError, before any write, if a journal would be too large. */
  commit(results: readonly TurnResult[], now: number): readonly Committed[] {
    const { runs, maxBytes } = this.#options;
    for (const result of results) runs.journals.checkCapacity(result);
    let bytes = 0;
    return results.map((result) => {
      // Above the byte limit the claim is released, and the next event is returned by a later claim.
      const committed = this.#commit(bytes > maxBytes ? { ...result, isLast: true } : result, now);
      bytes += committed.next?.body.byteLength ?? 0;
      return committed;
    });
  }

  #commit(result: TurnResult, now: number): Committed {
    const { mailboxes, parkedEvents, progress, deliveries, runs, snapshots, timers, appender } =
      this.#options;
    const key = toStorableText(result.key);
    if (!mailboxes.isCurrent(key, result)) return { isCurrent: false, next: undefined };
    const refusal = result.outcome === 'parked' ? parkedEvents.refusalOf(result, key) : undefined;
    if (refusal !== undefined) return { isCurrent: true, next: undefined, refusal };
    let attempt: number | undefined;
    if (result.outcome === 'checkpoint') attempt = progress.checkpoint(result);
    else if (result.outcome !== 'parked') deliveries.writeOutcome(result, now);
    runs.write(result, now);
    if (result.snapshot !== undefined) snapshots.set(key, result.snapshot, now);
    for (const name of result.cancelTimers ?? []) timers.cancel(key, name);
    for (const timer of result.timers ?? []) timers.set(key, timer, now);
    for (const event of result.emit ?? []) appender.add(event, now);
    if (attempt !== undefined) {
      mailboxes.extendClaim(key, now);
      return { isCurrent: true, next: undefined, attempt };
    }
    if (result.outcome === 'parked') parkedEvents.park(result, key, now);
    return { isCurrent: true, next: mailboxes.advance(key, result, now) };
  }

  /** Implements `Store.requeue`. */
  requeue(id: string, { keepsJournal = false }: RequeueOptions = {}, now: number): boolean {
    const { deliveries, parkedEvents, runs, mailboxes } = this.#options;
    const found = deliveries.find(id);
    if (found === undefined || !['done', 'dead', 'ignored', 'waiting'].includes(found.state)) return false;
    const { seq, key, state } = found;
    if (state === 'waiting') parkedEvents.cancelWait(seq, key);
    deliveries.requeue(found, toStorableText(id), keepsJournal);
    if (!keepsJournal) {
      runs.end(seq, now);
      runs.remove(seq);
    }
    if (!parkedEvents.onQueued(seq, key, now)) mailboxes.reschedule(key, now);
    return true;
  }

  /** Implements `Store.discard`. */
  discard(id: string, note: string, effects: DiscardEffects = {}, now: number): boolean {
    const { deliveries, parkedEvents, timers, appender, mailboxes } = this.#options;
    const found = deliveries.find(id);
    if (found === undefined || !['queued', 'retrying', 'held', 'waiting', 'dead'].includes(found.state))
      return false;
    const { seq, key, state } = found;
    if (state === 'waiting') parkedEvents.cancelWait(seq, key);
    deliveries.ignore(seq, note, now);
    if (state === 'dead') return true;
    for (const name of effects.cancelTimers ?? []) timers.cancel(key, name);
    for (const event of effects.emit ?? []) appender.add(event, now);
    mailboxes.reschedule(key, now);
    return true;
  }
}
