// A persistent counter that only grows: for fences, epochs and versions. It is one row for all keys, so that a key whose row was
// removed and made again never gets a number twice.

import type { SqliteConnection, Statement } from './connection.ts';

export class SqliteCounter {
  readonly #draw: Statement<readonly [number]>;

  constructor(connection: SqliteConnection) {
    this.#draw = connection.prepare('UPDATE counter SET value = value + ? RETURNING value');
  }

  next(): number {
    return this.draw(1);
  }

  /** The first of so many numbers in a row, all of which are the caller's. */
  draw(count: number): number {
    const row = this.#draw.get([count]);
    if (row === undefined) throw new Error('the counter of the store is gone');
    return row[0] - count + 1;
  }
}
