// Leases: a node owns a name for a limited time. The epoch identifies the owner: it increases when the node
// or address changes, and when an expired lease is acquired (rule S6 in ../store.ts).

import { toStorableText } from '../record-texts.ts';
import type { Lease, Owner } from '../store.ts';
import type { SqliteConnection, SqliteStatement } from './connection.ts';
import type { SqliteCounter } from './values.ts';

export class SqliteLeases {
  readonly #counter: SqliteCounter;
  readonly #get: SqliteStatement<readonly [string, string, number]>;
  readonly #set: SqliteStatement<readonly []>;
  readonly #sweep: SqliteStatement<readonly []>;

  constructor(connection: SqliteConnection, counter: SqliteCounter) {
    this.#counter = counter;
    this.#get = connection.prepare('SELECT node, address, epoch FROM lease WHERE name = ? AND until > ?');
    this.#set = connection.prepare(
      `INSERT INTO lease (name, node, address, epoch, until) VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE
       SET node = excluded.node, address = excluded.address, epoch = excluded.epoch, until = excluded.until`,
    );
    this.#sweep = connection.prepare(
      'DELETE FROM lease WHERE name IN (SELECT name FROM lease WHERE until <= ? LIMIT ?)',
    );
  }

  take(name: string, node: string, address: string, ttlMs: number, now: number): Lease | undefined {
    const owner = this.owner(name, now);
    const taker = { node: toStorableText(node), address: toStorableText(address) };
    if (owner !== undefined && owner.node !== taker.node) return undefined;
    const epoch = owner?.address === taker.address ? owner.epoch : this.#counter.next();
    this.#set.run([toStorableText(name), taker.node, taker.address, epoch, now + ttlMs]);
    return { epoch };
  }

  owner(name: string, now: number): Owner | undefined {
    const row = this.#get.get([toStorableText(name), now]);
    return row === undefined ? undefined : { node: row[0], address: row[1], epoch: row[2] };
  }

  /** Returns the number of deleted rows, limited by `limit`. */
  sweep(now: number, limit: number): number {
    return this.#sweep.run([now, limit]).changes;
  }
}
