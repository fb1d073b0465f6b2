// Whether there is room for events that come: the bound of those that wait or run, of all nodes together.
//
// PGR1  what this node appends alone never exceeds the bound: beside the last exact count stands all that has been added through it
//       since or is on its way, and the count is made anew, with nothing on its way, before anything is refused, or taken beyond it.
// PGR2  of several nodes each has counted a second ago at the most: together they exceed the bound by no more than the others have
//       added in that second. Near the bound they count one after the other.
// What a commit emits, a timer brings or an operator has run again is never refused, but counts.

import type { NewEvent } from '../event.ts';
import { storable } from '../record-texts.ts';
import { findAll } from './append.ts';
import { isRevived, type Known } from './claim-at-append.ts';
import { type Database, statement, type Transaction } from './database.ts';
import { unfinished } from './history.ts';
import { isAwaited } from './waits.ts';

const COUNTED_EVERY_MS = 1_000;

/** Who counts near the bound is alone with that. */
const lockRoom = statement('SELECT pg_advisory_xact_lock(1634162515, 3)');

interface Call {
  readonly events: readonly NewEvent[];
}

/** Calls that are taken have their places from then on, until `letGo`, when the database knows of them or never will. */
export interface Place<Taken> {
  readonly taken: ReadonlySet<Taken>;
  letGo(): void;
}

export class Room {
  readonly #database: Database;
  readonly #maxWaiting: number;
  #counted = Number.POSITIVE_INFINITY;
  /** What this process had added when it was counted. */
  #addedThen = 0;
  /** By a clock that only grows. */
  #countedAt = Number.NEGATIVE_INFINITY;
  /** How many events are on their way, by the ends of that. */
  readonly #underWay = new Map<Promise<void>, number>();

  constructor(database: Database, maxWaiting: number) {
    this.#database = database;
    this.#maxWaiting = maxWaiting;
  }

  /** Undefined where the database has to be looked at. */
  placeAtOnce<Given extends Call>(calls: readonly Given[]): Place<Given> | undefined {
    return this.#isCountDue ? undefined : this.#placeForAll(calls);
  }

  /** Resolves when what is on its way has ended. To be waited for before a transaction begins, which must not stand still for long. */
  async rest(): Promise<void> {
    await Promise.all(this.#underWay.keys());
  }

  /** For those of the calls, each of which is taken whole or not at all, that there is room for; they follow each other. */
  async place<Given extends Call>(transaction: Transaction, calls: readonly Given[]): Promise<Place<Given>> {
    if (this.#isCountDue) await this.#count(transaction);
    const free = this.#placeForAll(calls);
    if (free !== undefined) return free;
    await transaction.rows(lockRoom);
    await this.rest();
    await this.#count(transaction);
    return this.#placeForAll(calls) ?? this.#hold(await this.#fitting(transaction, calls, this.#atMost));
  }

  #placeForAll<Given extends Call>(calls: readonly Given[]): Place<Given> | undefined {
    return this.#atMost + eventsOf(calls) <= this.#maxWaiting ? this.#hold(new Set(calls)) : undefined;
  }

  #hold<Given extends Call>(taken: ReadonlySet<Given>): Place<Given> {
    let letGo = () => {};
    const ended = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    this.#underWay.set(ended, eventsOf(taken));
    return {
      taken,
      letGo: () => {
        this.#underWay.delete(ended);
        letGo();
      },
    };
  }

  get #isCountDue(): boolean {
    return performance.now() - this.#countedAt > COUNTED_EVERY_MS;
  }

  get #atMost(): number {
    const underWay = [...this.#underWay.values()].reduce((sum, count) => sum + count, 0);
    return this.#counted + this.#database.added - this.#addedThen + underWay;
  }

  async #count(transaction: Transaction): Promise<void> {
    // What is added from here on may be in the count or not.
    const { added } = this.#database;
    const countedAt = performance.now();
    this.#counted = await unfinished(transaction);
    this.#addedThen = added;
    this.#countedAt = countedAt;
  }

  /** What is known needs no room, and neither does what wakes an event that waits. */
  async #fitting<Given extends Call>(
    transaction: Transaction,
    calls: readonly Given[],
    count: number,
  ): Promise<ReadonlySet<Given>> {
    const ids = calls.flatMap(({ events }) => events.map(({ id }) => storable(id)));
    const known = await findAll(transaction, [...new Set(ids)]);
    const taken = new Set<Given>();
    const added = new Set<string>();
    const awaited = new Set<string>();
    let there = count;
    for (const call of calls) {
      const own = await addedBy(transaction, call.events, known, awaited);
      const coming = [...own].filter((id) => !added.has(id));
      if (coming.length > 0 && there + coming.length > this.#maxWaiting) continue;
      there += coming.length;
      for (const id of coming) added.add(id);
      for (const { key, wakes } of call.events) if (wakes !== undefined) awaited.add(waitOf(key, wakes));
      taken.add(call);
    }
    return taken;
  }
}

function eventsOf(calls: Iterable<Call>): number {
  let count = 0;
  for (const { events } of calls) count += events.length;
  return count;
}

/** The ids that would be unfinished with the call and are not yet; `woken` are waits that calls before it have ended. */
async function addedBy(
  transaction: Transaction,
  events: readonly NewEvent[],
  known: ReadonlyMap<string, Known>,
  woken: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const added = new Set<string>();
  for (const event of events) {
    const { key, wakes } = event;
    const id = storable(event.id);
    const found = known.get(id);
    if (found !== undefined && !isRevived(event, found)) continue;
    const mayWake = wakes !== undefined && !woken.has(waitOf(key, wakes));
    if (mayWake && (await isAwaited(transaction, storable(key), storable(wakes)))) continue;
    added.add(id);
  }
  return added;
}

function waitOf(key: string, name: string): string {
  return JSON.stringify([storable(key), storable(name)]);
}
