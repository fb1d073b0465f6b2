// Limits the number of unfinished events in the cluster (`maxWaiting`). New events above the limit are
// rejected.
//
// Counting is expensive, so each node computes an upper bound: the last count, plus all events it has added
// since, plus the events in flight. Near the limit it waits until no events are in flight, and counts; nodes
// do this one by one. A single node therefore never exceeds the limit. Several nodes can exceed it by the
// events of one second, the maximum age of a count. Emitted events, due timers and requeued events bypass the
// limit, but are counted.

import type { NewEvent } from '../event.ts';
import { acceptanceLimit } from '../key-kinds.ts';
import { toStorableText } from '../record-texts.ts';
import { findAll } from './append.ts';
import { canRevive, type KnownEvent } from './claim-at-append.ts';
import { type Database, statement, type Transaction } from './database.ts';
import { unfinished } from './history.ts';
import { isAwaited } from './parked-events.ts';

const COUNTED_EVERY_MS = 1_000;

/** Serialises counting near the limit. */
const lockCounting = statement('SELECT pg_advisory_xact_lock(1634162515, 3)');

interface CapacityRequest {
  readonly events: readonly NewEvent[];
}

/** Reserved capacity for accepted calls. The caller releases it when their transaction has finished. */
export interface Reservation<Accepted> {
  readonly accepted: ReadonlySet<Accepted>;
  release(): void;
}

export class Capacity {
  readonly #database: Database;
  readonly #maxWaiting: number;
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
  tryReserve<Accepted extends CapacityRequest>(
    calls: readonly Accepted[],
  ): Reservation<Accepted> | undefined {
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
  async reserve<Accepted extends CapacityRequest>(
    transaction: Transaction,
    calls: readonly Accepted[],
  ): Promise<Reservation<Accepted>> {
    if (this.#isCountDue) await this.#count(transaction);
    const free = this.#reserveAll(calls);
    if (free !== undefined) return free;
    await transaction.rows(lockCounting);
    await this.waitUntilIdle();
    await this.#count(transaction);
    return (
      this.#reserveAll(calls) ??
      this.#createReservation(await this.#select(transaction, calls, this.#upperBound))
    );
  }

  #reserveAll<Accepted extends CapacityRequest>(
    calls: readonly Accepted[],
  ): Reservation<Accepted> | undefined {
    return this.#upperBound + eventsOf(calls) <= this.#maxWaiting
      ? this.#createReservation(new Set(calls))
      : undefined;
  }

  #createReservation<Accepted extends CapacityRequest>(
    accepted: ReadonlySet<Accepted>,
  ): Reservation<Accepted> {
    let release = () => {};
    const completion = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#inFlight.set(completion, eventsOf(accepted));
    return {
      accepted,
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

  /** Returns the calls that fit. Stored events, and wakers of parked events, use no capacity. */
  async #select<Accepted extends CapacityRequest>(
    transaction: Transaction,
    calls: readonly Accepted[],
    count: number,
  ): Promise<ReadonlySet<Accepted>> {
    const ids = calls.flatMap(({ events }) => events.map(({ id }) => toStorableText(id)));
    const knownEvents = await findAll(transaction, [...new Set(ids)]);
    const accepted = new Set<Accepted>();
    const added = new Set<string>();
    const wokenNames = new Set<string>();
    let total = count;
    for (const call of calls) {
      const unfinishedIds = await addedBy(transaction, call.events, knownEvents, wokenNames);
      const newIds = [...unfinishedIds].filter((id) => !added.has(id));
      const limit = acceptanceLimit(call.events, this.#maxWaiting);
      if (newIds.length > 0 && total + newIds.length > limit) continue;
      total += newIds.length;
      for (const id of newIds) added.add(id);
      for (const { key, wakes } of call.events) if (wakes !== undefined) wokenNames.add(waitOf(key, wakes));
      accepted.add(call);
    }
    return accepted;
  }
}

function eventsOf(calls: Iterable<CapacityRequest>): number {
  let count = 0;
  for (const { events } of calls) count += events.length;
  return count;
}

/**
 * Returns the ids of new and requeued events, which become unfinished by the call. `wokenNames` contains
 * names woken by earlier calls.
 */
async function addedBy(
  transaction: Transaction,
  events: readonly NewEvent[],
  knownEvents: ReadonlyMap<string, KnownEvent>,
  wokenNames: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const added = new Set<string>();
  for (const event of events) {
    const { key, wakes } = event;
    const id = toStorableText(event.id);
    const found = knownEvents.get(id);
    if (found !== undefined && !canRevive(event, found)) continue;
    const mayWake = wakes !== undefined && !wokenNames.has(waitOf(key, wakes));
    if (mayWake && (await isAwaited(transaction, toStorableText(key), toStorableText(wakes)))) continue;
    added.add(id);
  }
  return added;
}

function waitOf(key: string, name: string): string {
  return JSON.stringify([toStorableText(key), toStorableText(name)]);
}
