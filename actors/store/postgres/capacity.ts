// Limits the number of unfinished events in the cluster (`maxWaiting`), with shares (../waiting-shares.ts).
// New events above the limit or a share are rejected.
//
// Counting is expensive, so each node computes an upper bound: the last count, plus all events it has added
// since, plus the events in flight. Near the limit it waits until no events are in flight, and counts; nodes
// do this one by one. A single node therefore never exceeds the limit, except by guaranteed shares. Several
// nodes can exceed it by the events of one second, the maximum age of a count. Emitted events, due timers and
// requeued events bypass the limit, but are counted.

import { type LimitUsage, largestHolders } from '../../base/bounds/limit-usage.ts';
import type { NewEvent } from '../event.ts';
import { addCount } from '../holder-counts.ts';
import { toStorableText } from '../record-texts.ts';
import { canWait, canWaitAny, triggerHolder } from '../waiting-shares.ts';
import { WaitingTally } from '../waiting-tally.ts';
import { findAll } from './append.ts';
import { canRevive, type KnownEvent } from './claim-at-append.ts';
import { type Database, statement, type Transaction } from './database.ts';
import { unfinished } from './history.ts';
import { isAwaited } from './parked-events.ts';
import { WaitingCounts } from './waiting-counts.ts';

const COUNTED_EVERY_MS = 1_000;

/** Serialises counting near the limit. */
const lockCounting = statement('SELECT pg_advisory_xact_lock(1634162515, 3)');

interface CapacityRequest {
  readonly events: readonly NewEvent[];
}

/** Reserved capacity for accepted calls. The caller releases it when their transaction has finished. */
export interface Reservation<Call> {
  readonly accepted: ReadonlySet<Call>;
  /** Reasons for the other calls. */
  readonly refusals: ReadonlyMap<Call, string>;
  release(): void;
}

export class Capacity {
  readonly #database: Database;
  readonly #maxWaiting: number;
  readonly #counts = new WaitingCounts();
  #lastCount = Number.POSITIVE_INFINITY;
  /** Value of `database.added` at the last count. */
  #addedAtCount = 0;
  /** When the last count was made, by the monotonic clock. */
  #countedAt = Number.NEGATIVE_INFINITY;
  /** Events in flight, by the promise of their completion. */
  readonly #inFlight = new Map<Promise<void>, number>();

  constructor(database: Database, maxWaiting: number) {
    this.#database = database;
    this.#maxWaiting = maxWaiting;
  }

  /** Reserves without reading the database. Returns undefined if a count is necessary. */
  tryReserve<Call extends CapacityRequest>(calls: readonly Call[]): Reservation<Call> | undefined {
    return this.#isCountDue ? undefined : this.#reserveAll(calls);
  }

  /**
   * Resolves when all events in flight are finished. Call it before the transaction, because an open
   * transaction must not be idle for long.
   */
  async waitUntilIdle(): Promise<void> {
    await Promise.all(this.#inFlight.keys());
  }

  /** Reserves capacity for the calls that fit, in order. Each call is accepted or rejected as a whole. */
  async reserve<Call extends CapacityRequest>(
    transaction: Transaction,
    calls: readonly Call[],
  ): Promise<Reservation<Call>> {
    if (this.#isCountDue) await this.#count(transaction);
    const free = this.#reserveAll(calls);
    if (free !== undefined) return free;
    await transaction.rows(lockCounting);
    await this.waitUntilIdle();
    await this.#count(transaction);
    return this.#reserveAll(calls) ?? this.#select(transaction, calls, this.#upperBound);
  }

  async usage(transaction: Transaction): Promise<LimitUsage> {
    const byTrigger = await this.#counts.byTrigger(transaction);
    const used = await unfinished(transaction);
    return { used, max: this.#maxWaiting, holders: largestHolders(byTrigger) };
  }

  #reserveAll<Call extends CapacityRequest>(calls: readonly Call[]): Reservation<Call> | undefined {
    return this.#hasCapacity(calls) ? this.#createReservation(new Set(calls)) : undefined;
  }

  /** Returns true if all events certainly have capacity, even if each trigger has a single conversation. */
  #hasCapacity(calls: readonly CapacityRequest[]): boolean {
    let total = this.#upperBound;
    if (canWaitAny(total, eventsOf(calls), this.#maxWaiting)) return true;
    const remembered = this.#counts.remembered;
    if (remembered === undefined) return false;
    const added = new Map<string, number>();
    return calls
      .flatMap(({ events }) => events.map(toStored))
      .every((event) => {
        const name = triggerHolder(event);
        const trigger = (remembered.get(name) ?? 0) + (added.get(name) ?? 0);
        const hasCapacity = canWait({ total, trigger, conversation: trigger }, this.#maxWaiting);
        addCount(added, name, 1);
        total += 1;
        return hasCapacity;
      });
  }

  #createReservation<Call extends CapacityRequest>(
    accepted: ReadonlySet<Call>,
    refusals: ReadonlyMap<Call, string> = new Map(),
  ): Reservation<Call> {
    for (const { events } of accepted) for (const event of events) this.#counts.add(toStored(event));
    let release = () => {};
    const completion = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#inFlight.set(completion, eventsOf(accepted));
    return {
      accepted,
      refusals,
      release: () => {
        this.#inFlight.delete(completion);
        release();
      },
    };
  }

  get #isCountDue(): boolean {
    return performance.now() - this.#countedAt > COUNTED_EVERY_MS;
  }

  get #upperBound(): number {
    const inFlight = [...this.#inFlight.values()].reduce((sum, count) => sum + count, 0);
    return this.#lastCount + this.#database.added - this.#addedAtCount + inFlight;
  }

  async #count(transaction: Transaction): Promise<void> {
    // Read before the count, which possibly includes events that are added meanwhile.
    const { added } = this.#database;
    const countedAt = performance.now();
    this.#lastCount = await unfinished(transaction);
    this.#addedAtCount = added;
    this.#countedAt = countedAt;
  }

  /** Reserves for the calls that fit. Stored events, and wakers of parked events, use no capacity. */
  async #select<Call extends CapacityRequest>(
    transaction: Transaction,
    calls: readonly Call[],
    total: number,
  ): Promise<Reservation<Call>> {
    const stored = calls.flatMap(({ events }) => events.map(toStored));
    const knownEvents = await findAll(transaction, [...new Set(stored.map(({ id }) => id))]);
    const byTrigger = await this.#counts.byTrigger(transaction);
    const keys = [...new Set(stored.map(({ key }) => key))];
    const byConversation = await this.#counts.byConversation(transaction, keys);
    const tally = new WaitingTally({ total, byTrigger, byConversation }, this.#maxWaiting);
    const accepted = new Set<Call>();
    const refusals = new Map<Call, string>();
    const wokenNames = new Set<string>();
    for (const call of calls) {
      const refusal = tally.add(
        call.events,
        await addedBy(transaction, call.events, knownEvents, wokenNames),
      );
      if (refusal !== undefined) {
        refusals.set(call, refusal);
        continue;
      }
      for (const { key, wakes } of call.events) if (wakes !== undefined) wokenNames.add(waitOf(key, wakes));
      accepted.add(call);
    }
    return this.#createReservation(accepted, refusals);
  }
}

const toStored = ({ id, key }: NewEvent) => ({ id: toStorableText(id), key: toStorableText(key) });

function eventsOf(calls: Iterable<CapacityRequest>): number {
  let count = 0;
  for (const { events } of calls) count += events.length;
  return count;
}

/**
 * Returns the new and requeued events, which become unfinished by the call. `wokenNames` contains names woken
 * by earlier calls.
 */
async function addedBy(
  transaction: Transaction,
  events: readonly NewEvent[],
  knownEvents: ReadonlyMap<string, KnownEvent>,
  wokenNames: ReadonlySet<string>,
): Promise<readonly NewEvent[]> {
  const added: NewEvent[] = [];
  for (const event of events) {
    const { key, wakes } = event;
    const found = knownEvents.get(toStorableText(event.id));
    if (found !== undefined && !canRevive(event, found)) continue;
    const mayWake = wakes !== undefined && !wokenNames.has(waitOf(key, wakes));
    if (mayWake && (await isAwaited(transaction, toStorableText(key), toStorableText(wakes)))) continue;
    added.push(event);
  }
  return added;
}

function waitOf(key: string, name: string): string {
  return JSON.stringify([toStorableText(key), toStorableText(name)]);
}
