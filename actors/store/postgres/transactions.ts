// The transactions of a store on PostgreSQL: what has been emitted in one is appended before it ends, and what has become claimable is
// told to this node at once, and to the others by a notification after the commit, which may be lost: each looks by itself POLL_MS after
// it last did (S10).

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

  /** All or nothing; a promise resolves after the commit only. */
  readonly run = <T>(action: (transaction: Transaction) => Promise<T>): Promise<T> =>
    this.runAfter(() => Promise.resolve(), action);

  /** The same, with what is sent with its beginning: see Database.transactionAfter. */
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
    if (isWakeDue) this.#wakes.tell();
    return result;
  };

  checkOpen(): void {
    if (this.#isClosed) throw new StoppedError('the store is closed');
  }

  /** Gives whether it was open. What is under way comes to its end. */
  close(): boolean {
    const wasOpen = !this.#isClosed;
    this.#isClosed = true;
    return wasOpen;
  }
}
