// Leases on what one node alone may hold. A lease is valid as long as the membership it was taken in: one renewal holds all of them,
// and with the end of the membership all are free.
//
// NL1  at any instant of the database's clock a lease has one holder at most; its epoch grows each time it is taken.
// NL2  a node knows a lease as held no longer than it knows itself a member, which ends before it does in the tables.
// NL3  what a process has taken without hearing of it, or let go without being heard, stands in nobody's way: it may be taken anew by
//      the same process, and its release is tried until it is heard or the membership is over.

import { setTimeout as elapse } from 'node:timers/promises';
import type { LeaseHolder, NodeLease, NodeLeases } from '../membership.ts';
import { type Database, statement, type Transaction } from './database.ts';
import type { Membership } from './membership.ts';

const take = statement<readonly [epoch: number]>(
  `INSERT INTO node_lease (name, node, epoch)
   SELECT $1, $2, nextval('counter') WHERE EXISTS (SELECT 1 FROM node WHERE id = $2 AND until > $3)
   ON CONFLICT (name) DO UPDATE SET node = excluded.node, epoch = excluded.epoch
     WHERE node_lease.node = $2 OR NOT EXISTS (SELECT 1 FROM node WHERE id = node_lease.node AND until > $3)
   RETURNING epoch`,
);
const release = statement('DELETE FROM node_lease WHERE name = $1 AND epoch = $2');
/** Before a release that was not heard is tried again. */
const AGAIN_MS = 200;
const holder = statement<readonly [epoch: number, node: number]>(
  'SELECT l.epoch, l.node FROM node_lease l JOIN node n ON n.id = l.node WHERE l.name = $1 AND n.until > $2',
);

export class PostgresNodeLeases implements NodeLeases {
  readonly #database: Database;
  readonly #membership: Membership;
  /** Those that this process holds, or asks for just now, by name: the membership they are of. */
  readonly #own = new Map<string, number>();

  constructor(database: Database, membership: Membership) {
    this.#database = database;
    this.#membership = membership;
  }

  async take(name: string): Promise<NodeLease | undefined> {
    const membership = this.#membership;
    const node = membership.epoch;
    if (!membership.isMember || this.#own.get(name) === node) return undefined;
    this.#own.set(name, node);
    const forget = () => {
      if (this.#own.get(name) === node) this.#own.delete(name);
    };
    const [row] = await this.#database
      .transaction((transaction) => transaction.rows(take, [name, node, transaction.now]))
      .catch((error: unknown) => {
        forget();
        throw error;
      });
    if (row === undefined) {
      forget();
      return undefined;
    }
    const [epoch] = row;
    const isOfNow = () => membership.isMember && membership.epoch === node;
    let isReleased = false;
    return {
      name,
      epoch,
      get isHeld() {
        return !isReleased && isOfNow();
      },
      release: async () => {
        if (isReleased) return;
        isReleased = true;
        forget();
        while (!(await this.#isReleased(name, epoch)) && isOfNow()) await elapse(AGAIN_MS);
      },
    };
  }

  async #isReleased(name: string, epoch: number): Promise<boolean> {
    const run = (transaction: Transaction) => transaction.run(release, [name, epoch]);
    return this.#database.transaction(run).then(
      () => true,
      () => false,
    );
  }

  async holder(name: string): Promise<LeaseHolder | undefined> {
    const [row] = await this.#database.transaction((transaction) =>
      transaction.rows(holder, [name, transaction.now]),
    );
    return row && { epoch: row[0], node: row[1] };
  }
}
