// Transactions of the store on PostgreSQL. Before the commit, a transaction appends the events that it has
// emitted. If it makes mailboxes claimable, the nodes are notified (wakes.ts). A lost notification only
// causes delay, because all nodes also poll (rule S10 in ../store.ts).

import { StoppedError } from '../../base/errors/errors.ts';
import { appendEmitted } from './append.ts';
import type { Database, Statements, Transaction } from './database.ts';
import type { Wakes } from './wakes.ts';

export class StoreTransactions {
  readonly #database: Database;
  readonly #wakes: Wakes;
  #isClosed = false;

  constructor(database: Database, wakes: Wakes) {
    this.#database = database;
    this.#wakes = wakes;
  }

  /** Runs the action atomically; resolves once committed. */
  readonly run = <T>(action: (transaction: Transaction) => Promise<T>): Promise<T> =>
    this.runAfter(() => Promise.resolve(), action);

  /** Like `run`, with statements that are sent together with BEGIN, see Database.transactionAfter. */
  readonly runAfter = async <Opened, T>(
    open: (statements: Statements) => Promise<Opened>,
    action: (transaction: Transaction, opened: Opened) => Promise<T>,
  ): Promise<T> => {
    this.checkOpen();
    let isWakeDue = false;
    const result = await this.#database.transactionAfter(open, async (transaction, opened) => {
      const value = await action(transaction, opened);
      await appendEmitted(transaction);
      isWakeDue = transaction.isWakeDue;
      return value;
    });
    if (isWakeDue) this.#wakes.notify();
    return result;
  };

  checkOpen(): void {
    if (this.#isClosed) throw new StoppedError('the store is closed');
  }

  /** Rejects further transactions; running transactions complete. Returns false if already closed. */
  close(): boolean {
    const wasOpen = !this.#isClosed;
    this.#isClosed = true;
    return wasOpen;
  }
}
