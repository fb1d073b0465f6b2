// Leases on what one node alone may hold. A lease is valid as long as the membership it was taken in: one renewal holds all of them,
// and with the end of the membership all are free.
//
// NL1  at any instant of the database's clock a lease has one holder at most; its epoch grows each time it is taken.
// NL2  a node knows a lease as held no longer than it knows itself a member, which ends before it does in the tables.

import type { LeaseHolder, NodeLease, NodeLeases } from '../../cluster/cluster.ts';
import { type Database, statement } from './database.ts';
import type { Membership } from './membership.ts';

const take = statement<readonly [epoch: number]>(
  `INSERT INTO node_lease (name, node, epoch)
   SELECT $1, $2, nextval('counter') WHERE EXISTS (SELECT 1 FROM node WHERE id = $2 AND until > $3)
   ON CONFLICT (name) DO UPDATE SET node = excluded.node, epoch = excluded.epoch
     WHERE NOT EXISTS (SELECT 1 FROM node WHERE id = node_lease.node AND until > $3)
   RETURNING epoch`,
);
const release = statement('DELETE FROM node_lease WHERE name = $1 AND epoch = $2');
const holder = statement<readonly [epoch: number, node: number]>(
  'SELECT l.epoch, l.node FROM node_lease l JOIN node n ON n.id = l.node WHERE l.name = $1 AND n.until > $2',
);

export class PostgresNodeLeases implements NodeLeases {
  readonly #database: Database;
  readonly #membership: Membership;

  constructor(database: Database, membership: Membership) {
    this.#database = database;
    this.#membership = membership;
  }

  async take(name: string): Promise<NodeLease | undefined> {
    const membership = this.#membership;
    const node = membership.epoch;
    if (!membership.isMember) return undefined;
    const [row] = await this.#database.transaction((transaction) =>
      transaction.rows(take, [name, node, transaction.now]),
    );
    if (row === undefined) return undefined;
    const [epoch] = row;
    let isReleased = false;
    return {
      name,
      epoch,
      get isHeld() {
        return !isReleased && membership.isMember && membership.epoch === node;
      },
      release: async () => {
        isReleased = true;
        await this.#database
          .transaction((transaction) => transaction.run(release, [name, epoch]))
          .catch(() => undefined);
      },
    };
  }

  async holder(name: string): Promise<LeaseHolder | undefined> {
    const [row] = await this.#database.transaction((transaction) =>
      transaction.rows(holder, [name, transaction.now]),
    );
    return row && { epoch: row[0], node: row[1] };
  }
}
