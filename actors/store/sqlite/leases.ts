// Leases: which node owns a name for a limited time, with an epoch that tells a former owner from the present one.
//
// SL1  the epoch grows whenever node or address change, and when the lease is taken after it had ended (S6).

import { storable } from '../record-texts.ts';
import type { Lease, Owner } from '../store.ts';
import type { SqliteConnection, Statement } from './connection.ts';
import type { SqliteCounter } from './values.ts';

export class SqliteLeases {
  readonly #counter: SqliteCounter;
  readonly #get: Statement<readonly [string, string, number]>;
  readonly #set: Statement<readonly []>;
  readonly #sweep: Statement<readonly []>;

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
    const taker = { node: storable(node), address: storable(address) };
    if (owner !== undefined && owner.node !== taker.node) return undefined;
    const epoch = owner?.address === taker.address ? owner.epoch : this.#counter.next();
    this.#set.run([storable(name), taker.node, taker.address, epoch, now + ttlMs]);
    return { epoch };
  }

  owner(name: string, now: number): Owner | undefined {
    const row = this.#get.get([storable(name), now]);
    return row === undefined ? undefined : { node: row[0], address: row[1], epoch: row[2] };
  }

  /** Gives how many rows were removed, at most `limit`. */
  sweep(now: number, limit: number): number {
    return this.#sweep.run([now, limit]).changes;
  }
}
