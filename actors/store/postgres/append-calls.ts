// Runs the store calls that add events, `append` and `tick`, in groups (group-commit.ts). Each call is
// accepted or rejected as a whole, in order of arrival, depending on the capacity (capacity.ts). A node that
// has lost its cluster membership cannot reach the database. It rejects calls within REJOIN_MS, so that
// senders can try another node instead of waiting for statement timeouts.

import type { LimitUsage } from '../../base/bounds/limit-usage.ts';
import { type GatewayError, OverloadedError, StoreUnavailableError } from '../../base/errors/errors.ts';
import { appendedOf } from '../append-outcome.ts';
import type { NewEvent } from '../event.ts';
import { toStorableText } from '../record-texts.ts';
import type { AppendOutcome } from '../store.ts';
import type { AppendResult } from '../sync-store.ts';
import { completeInserted } from './append.ts';
import { type Arrival, insertEvents } from './arrivals.ts';
import { Capacity, type Reservation } from './capacity.ts';
import type { Database, Transaction } from './database.ts';
import { bytesOf, GroupCommit } from './group-commit.ts';
import type { Membership } from './membership.ts';
import type { StoreTransactions } from './transactions.ts';
import { tickOnce } from './values-and-leases.ts';

interface AppendCall {
  readonly events: readonly NewEvent[];
  readonly claimMs?: number | undefined;
  /** Appends the events only if this tick does not exist. */
  readonly tick?: { readonly name: string; readonly at: number };
}

/** Time to wait for a rejoin, for example when the process was suspended briefly. */
const REJOIN_MS = 2_000;
const NOTHING: readonly AppendOutcome[] = [];

export class Appends {
  readonly #transactions: StoreTransactions;
  readonly #membership: Membership;
  readonly #capacity: Capacity;
  readonly #calls: GroupCommit<AppendCall, readonly AppendOutcome[]>;

  constructor(
    database: Database,
    transactions: StoreTransactions,
    membership: Membership,
    maxWaiting: number,
  ) {
    this.#transactions = transactions;
    this.#membership = membership;
    this.#capacity = new Capacity(database, maxWaiting);
    this.#calls = new GroupCommit({
      name: 'append',
      run: (calls) => this.#run(calls),
      keys: ({ events }) => events.map(({ key }) => toStorableText(key)),
    });
  }

  async append(events: readonly NewEvent[], claimMs: number | undefined): Promise<readonly AppendOutcome[]> {
    return events.length === 0 ? NOTHING : this.#calls.call({ events, claimMs }, bytesOf(events));
  }

  /** Returns false if the tick exists. */
  async tick(name: string, at: number, event: NewEvent): Promise<boolean> {
    return (await this.#calls.call({ events: [event], tick: { name, at } }, bytesOf([event]))).length > 0;
  }

  usage(): Promise<LimitUsage> {
    return this.#transactions.run((transaction) => this.#capacity.usage(transaction));
  }

  close(): Promise<void> {
    return this.#calls.close();
  }

  /**
   * Runs the calls in one transaction. Does not count the stored events if the capacity is certainly
   * sufficient and no call is a tick.
   */
  async #run(calls: readonly AppendCall[]): Promise<readonly (readonly AppendOutcome[] | GatewayError)[]> {
    if (!(await this.#membership.isMemberWithin(REJOIN_MS)))
      return calls.map(
        () => new StoreUnavailableError('the database cannot be reached from this node; try again shortly'),
      );
    const reservation = calls.some(({ tick }) => tick !== undefined)
      ? undefined
      : this.#capacity.tryReserve(calls);
    if (reservation === undefined) return this.#runCounted(calls);
    try {
      return await this.#transactions.runAfter(
        (statements) => insertEvents(statements, calls.flatMap(arrivalsOf), this.#membership.epoch),
        async (transaction, inserted) => resultsPerCall(calls, await completeInserted(transaction, inserted)),
      );
    } finally {
      reservation.release();
    }
  }

  async #runCounted(
    calls: readonly AppendCall[],
  ): Promise<readonly (readonly AppendOutcome[] | GatewayError)[]> {
    await this.#capacity.waitUntilIdle();
    let reservation: Reservation<AppendCall> | undefined;
    try {
      return await this.#transactions.run(async (transaction) => {
        // The transaction may be retried.
        reservation?.release();
        reservation = await this.#capacity.reserve(transaction, calls);
        return this.#appendAccepted(transaction, calls, reservation);
      });
    } finally {
      reservation?.release();
    }
  }

  async #appendAccepted(
    transaction: Transaction,
    calls: readonly AppendCall[],
    { accepted, refusals }: Reservation<AppendCall>,
  ) {
    const due: AppendCall[] = [];
    for (const call of calls) if (accepted.has(call) && (await isDue(transaction, call))) due.push(call);
    const arrivals = due.flatMap(arrivalsOf);
    const appendResults =
      arrivals.length === 0
        ? []
        : await completeInserted(
            transaction,
            await insertEvents(transaction, arrivals, this.#membership.epoch),
          );
    const appended = new Map(resultsPerCall(due, appendResults).map((results, at) => [due[at], results]));
    return calls.map((call) =>
      accepted.has(call) ? (appended.get(call) ?? NOTHING) : new OverloadedError(refusals.get(call) ?? ''),
    );
  }
}

const arrivalsOf = ({ events, claimMs }: AppendCall): readonly Arrival[] =>
  events.map((event) => ({ event, claimMs }));

async function isDue(transaction: Transaction, { tick }: AppendCall): Promise<boolean> {
  return tick === undefined || (await tickOnce(transaction, tick.name, tick.at));
}

/** Distributes the results to their calls. */
function resultsPerCall(
  calls: readonly AppendCall[],
  appendResults: readonly AppendResult[],
): readonly (readonly AppendOutcome[])[] {
  let from = 0;
  return calls.map(({ events }) => {
    const results = appendResults.slice(from, from + events.length);
    from += results.length;
    return results.map((entry, n) => appendedOf(events[n] as NewEvent, entry));
  });
}
