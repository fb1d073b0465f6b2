// What comes from outside, appends and the ticks of schedules, in groups (group-commit.ts): each call by itself, so that those for which
// there is no room are refused, and the others are taken, in the order in which they came.

import { type GatewayError, OverloadedError } from '../../errors.ts';
import { appendedOf } from '../appended.ts';
import type { Appended, NewEvent } from '../store.ts';
import { append } from './append.ts';
import type { Database, Transaction } from './database.ts';
import { bytesOf, GroupCommit } from './group-commit.ts';
import type { Membership } from './membership.ts';
import { Room } from './room.ts';
import { tickOnce } from './shelves.ts';
import type { StoreTransactions } from './transactions.ts';

interface Call {
  readonly events: readonly NewEvent[];
  readonly claimMs?: number | undefined;
  /** Nothing is appended where it has ticked then already. */
  readonly tick?: { readonly name: string; readonly at: number };
}

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
    this.#calls = new GroupCommit({ name: 'append', run: (calls) => this.#run(calls) });
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

  #run(calls: readonly Call[]): Promise<readonly (readonly Appended[] | GatewayError)[]> {
    return this.#transactions.run(async (transaction) => {
      const taken = await this.#room.taken(transaction, calls);
      const appended = await this.#append(
        transaction,
        calls.filter((call) => taken.has(call)),
      );
      return calls.map((call) =>
        taken.has(call)
          ? (appended.get(call) ?? NOTHING)
          : new OverloadedError(`the store holds ${this.#maxWaiting} events that wait; try again later`),
      );
    });
  }

  async #append(
    transaction: Transaction,
    calls: readonly Call[],
  ): Promise<ReadonlyMap<Call, readonly Appended[]>> {
    const due: Call[] = [];
    for (const call of calls)
      if (call.tick === undefined || (await tickOnce(transaction, call.tick.name, call.tick.at)))
        due.push(call);
    const arrivals = due.flatMap(({ events, claimMs }) => events.map((event) => ({ event, claimMs })));
    const entered = await append(transaction, arrivals, this.#membership.epoch);
    const appended = new Map<Call, readonly Appended[]>();
    let from = 0;
    for (const call of due) {
      const own = entered.slice(from, from + call.events.length);
      appended.set(
        call,
        own.map((entry, n) => appendedOf(call.events[n] as NewEvent, entry)),
      );
      from += own.length;
    }
    return appended;
  }
}
