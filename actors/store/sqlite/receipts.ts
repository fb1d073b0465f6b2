// Finds sent messages by receipt, the id that their platform assigned. Some platforms accept a message and
// report a failed delivery later; the record then changes from done to dead.

import type { Undelivered } from '../delivery.ts';
import { stateCodes } from '../delivery-states.ts';
import { NOTE_LENGTH, toStorableText, truncateText } from '../record-texts.ts';
import type { SqliteConnection, SqliteStatement } from './connection.ts';
import { withFailure } from './outcomes.ts';

export class SqliteReceipts {
  readonly #find: SqliteStatement<readonly [number, string, number]>;
  readonly #fail: SqliteStatement<readonly []>;

  constructor(connection: SqliteConnection) {
    // The key is compared too, because ids of messages are unique per chat only.
    this.#find = connection.prepare(
      `SELECT seq, id, state FROM delivery INDEXED BY delivery_receipt
       WHERE receipt = ? AND substr(key, 1, length(?)) = ? ORDER BY seq DESC LIMIT 1`,
    );
    this.#fail = connection.prepare(
      `UPDATE delivery SET state = ${stateCodes.dead}, ended = ?, note = ?, ${withFailure} WHERE seq = ?`,
    );
  }

  /** Returns the id of the delivery with the receipt. */
  find(keyPrefix: string, receipt: string): string | undefined {
    return this.#find.get([toStorableText(receipt), keyPrefix, keyPrefix])?.[1];
  }

  /**
   * Returns the id of the delivery with the receipt. Changes the state from done to dead, but no other state.
   */
  undeliver(keyPrefix: string, { receipt, note }: Undelivered, now: number): string | undefined {
    const row = this.#find.get([toStorableText(receipt), keyPrefix, keyPrefix]);
    if (row === undefined) return undefined;
    const [seq, id, state] = row;
    const why = truncateText(note, NOTE_LENGTH);
    if (state === stateCodes.done) this.#fail.run([now, why, now, why, seq]);
    return id;
  }
}
