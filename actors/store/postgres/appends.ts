// What comes from outside, appends and the ticks of schedules, in groups (group-commit.ts): each call by itself, so that those for which
// there is no room are refused, and the others are taken, in the order in which they came.
//
// PAP1  a node that has lost its membership, since it cannot reach the database, says so soon: whoever sent an event may find another
//       node. It would be told as much by the timeouts of statements, one after the other.

import { type GatewayError, OverloadedError, StoreUnavailableError } from '../../base/errors/errors.ts';
import { appendedOf } from '../appended.ts';
import type { NewEvent } from '../event.ts';
import type { Entered } from '../ledger.ts';
import { storable } from '../record-texts.ts';
import type { Appended } from '../store.ts';
import { settleArrived } from './append.ts';
import { type Arrival, bring } from './arrivals.ts';
import type { Database, Transaction } from './database.ts';
import { bytesOf, GroupCommit } from './group-commit.ts';
import type { Membership } from './membership.ts';
import { type Place, Room } from './room.ts';
import { tickOnce } from './shelves.ts';
import type { StoreTransactions } from './transactions.ts';

interface Call {
  readonly events: readonly NewEvent[];
  readonly claimMs?: number | undefined;
  /** Nothing is appended where it has ticked then already. */
  readonly tick?: { readonly name: string; readonly at: number };
}

/** A node that stood still for a moment is a member again within that. */
const MEMBER_WITHIN_MS = 2_000;
const NOTHING: readonly Appended[] = [];

export class Appends {
  readonly #transactions: StoreTransactions;
  readonly #membership: Membership;
  readonly #room: Room;
  readonly #maxWaiting: number;
  readonly #calls: GroupCommit<Call, readonly Appended[]>;

  constructor(
    database: Database,
    transactions: StoreTransactions,
    membership: Membership,
    maxWaiting: number,
  ) {
    this.#transactions = transactions;
    this.#membership = membership;
    this.#room = new Room(database, maxWaiting);
    this.#maxWaiting = maxWaiting;
    this.#calls = new GroupCommit({
      name: 'append',
      run: (calls) => this.#run(calls),
      keys: ({ events }) => events.map(({ key }) => storable(key)),
    });
  }

  async append(events: readonly NewEvent[], claimMs: number | undefined): Promise<readonly Appended[]> {
    return events.length === 0 ? NOTHING : this.#calls.call({ events, claimMs }, bytesOf(events));
  }

  /** Gives whether it had not ticked then. */
  async tick(name: string, at: number, event: NewEvent): Promise<boolean> {
    return (await this.#calls.call({ events: [event], tick: { name, at } }, bytesOf([event]))).length > 0;
  }

  close(): Promise<void> {
    return this.#calls.close();
  }

  /** Where nothing that is there decides what is taken of them all are sent at once. */
  async #run(calls: readonly Call[]): Promise<readonly (readonly Appended[] | GatewayError)[]> {
    if (!(await this.#membership.isMemberWithin(MEMBER_WITHIN_MS)))
      return calls.map(
        () => new StoreUnavailableError('the database cannot be reached from this node; try again shortly'),
      );
    const place = calls.some(({ tick }) => tick !== undefined) ? undefined : this.#room.placeAtOnce(calls);
    if (place === undefined) return this.#look(calls);
    try {
      return await this.#transactions.runAfter(
        (statements) => bring(statements, calls.flatMap(arrivalsOf), this.#membership.epoch),
        async (transaction, arrived) => appendedBy(calls, await settleArrived(transaction, arrived)),
      );
    } finally {
      place.letGo();
    }
  }

  async #look(calls: readonly Call[]): Promise<readonly (readonly Appended[] | GatewayError)[]> {
    await this.#room.rest();
    let place: Place<Call> | undefined;
    try {
      return await this.#transactions.run(async (transaction) => {
        // It may be tried again.
        place?.letGo();
        place = await this.#room.place(transaction, calls);
        return this.#appendTaken(transaction, calls, place.taken);
      });
    } finally {
      place?.letGo();
    }
  }

  async #appendTaken(transaction: Transaction, calls: readonly Call[], taken: ReadonlySet<Call>) {
    const due: Call[] = [];
    for (const call of calls) if (taken.has(call) && (await isDue(transaction, call))) due.push(call);
    const arrivals = due.flatMap(arrivalsOf);
    const entered =
      arrivals.length === 0
        ? []
        : await settleArrived(transaction, await bring(transaction, arrivals, this.#membership.epoch));
    const appended = new Map(appendedBy(due, entered).map((own, at) => [due[at], own]));
    return calls.map((call) =>
      taken.has(call)
        ? (appended.get(call) ?? NOTHING)
        : new OverloadedError(`the store holds ${this.#maxWaiting} events that wait; try again later`),
    );
  }
}

const arrivalsOf = ({ events, claimMs }: Call): readonly Arrival[] =>
  events.map((event) => ({ event, claimMs }));

async function isDue(transaction: Transaction, { tick }: Call): Promise<boolean> {
  return tick === undefined || (await tickOnce(transaction, tick.name, tick.at));
}

/** Of each call what is its own. */
function appendedBy(calls: readonly Call[], entered: readonly Entered[]): readonly (readonly Appended[])[] {
  let from = 0;
  return calls.map(({ events }) => {
    const own = entered.slice(from, from + events.length);
    from += own.length;
    return own.map((entry, n) => appendedOf(events[n] as NewEvent, entry));
  });
}
