// Finds sent messages by the id that their platform has given them, the receipt. Some platforms accept a message and report later
// that it was not delivered; its delivery then changes from done to dead.

import type { Undelivered } from '../delivery.ts';
import { stateCodes } from '../delivery-states.ts';
import { bounded, NOTE_LENGTH, storable } from '../record-texts.ts';
import type { SqliteConnection, Statement } from './connection.ts';
import { withFailure } from './outcomes.ts';

export class SqliteReceipts {
  readonly #find: Statement<readonly [number, string, number]>;
  readonly #fail: Statement<readonly []>;

  constructor(connection: SqliteConnection) {
    // Messages of several chats may be called the same.
    this.#find = connection.prepare(
      `SELECT seq, id, state FROM delivery INDEXED BY delivery_receipt
       WHERE receipt = ? AND substr(key, 1, length(?)) = ? ORDER BY seq DESC LIMIT 1`,
    );
    this.#fail = connection.prepare(
      `UPDATE delivery SET state = ${stateCodes.dead}, ended = ?, note = ?, ${withFailure} WHERE seq = ?`,
    );
  }

  /** Gives the id of what has the receipt. */
  find(keyPrefix: string, receipt: string): string | undefined {
    return this.#find.get([storable(receipt), keyPrefix, keyPrefix])?.[1];
  }

  /** The same. */
  undeliver(keyPrefix: string, { receipt, note }: Undelivered, now: number): string | undefined {
    const row = this.#find.get([storable(receipt), keyPrefix, keyPrefix]);
    if (row === undefined) return undefined;
    const [seq, id, state] = row;
    const why = bounded(note, NOTE_LENGTH);
    if (state === stateCodes.done) this.#fail.run([now, why, now, why, seq]);
    return id;
  }
}
