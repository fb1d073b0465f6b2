// Exclusive leases of nodes. A lease belongs to the membership that acquired it: the lease is valid while the
// membership is renewed, and free when the membership expires. By the database's clock a lease never has two
// owners; its epoch increases with every acquisition. If the response to an acquisition is lost, the process
// can repeat it. A release is retried until it succeeds or the membership expires.
//
// A node uses a lease only while it regards itself as a member (membership.ts), and therefore stops before
// the database frees the lease.

import { setTimeout as elapse } from 'node:timers/promises';
import type { LeaseHolder, NodeLease, NodeLeases } from '../membership.ts';
import { type Database, statement, type Transaction } from './database.ts';
import type { Membership } from './membership.ts';

/**
 * Acquires the lease for a member if it is free; otherwise returns no row. `node` is the membership epoch.
 */
const acquireLease = statement<readonly [epoch: number]>(
  `INSERT INTO node_lease (name, node, epoch)
   SELECT $1, $2, nextval('counter') WHERE EXISTS (SELECT 1 FROM node WHERE id = $2 AND until > $3)
   ON CONFLICT (name) DO UPDATE SET node = excluded.node, epoch = excluded.epoch
     WHERE node_lease.node = $2 OR NOT EXISTS (SELECT 1 FROM node WHERE id = node_lease.node AND until > $3)
   RETURNING epoch`,
);
const release = statement('DELETE FROM node_lease WHERE name = $1 AND epoch = $2');
/** Pause before a failed release is retried. */
const RETRY_MS = 200;
const holder = statement<readonly [epoch: number, node: number]>(
  'SELECT l.epoch, l.node FROM node_lease l JOIN node n ON n.id = l.node WHERE l.name = $1 AND n.until > $2',
);

export class PostgresNodeLeases implements NodeLeases {
  readonly #database: Database;
  readonly #membership: Membership;
  /** Leases of this process, including pending acquisitions: membership epoch by lease name. */
  readonly #own = new Map<string, number>();

  constructor(database: Database, membership: Membership) {
    this.#database = database;
    this.#membership = membership;
  }

  async acquire(name: string): Promise<NodeLease | undefined> {
    const membership = this.#membership;
    const memberEpoch = membership.epoch;
    if (!membership.isMember || this.#own.get(name) === memberEpoch) return undefined;
    this.#own.set(name, memberEpoch);
    const forget = () => {
      if (this.#own.get(name) === memberEpoch) this.#own.delete(name);
    };
    const [row] = await this.#database
      .transaction((transaction) => transaction.rows(acquireLease, [name, memberEpoch, transaction.now]))
      .catch((error: unknown) => {
        forget();
        throw error;
      });
    if (row === undefined) {
      forget();
      return undefined;
    }
    const [leaseEpoch] = row;
    const isValid = () => membership.isMember && membership.epoch === memberEpoch;
    let isReleased = false;
    return {
      name,
      epoch: leaseEpoch,
      get isHeld() {
        return !isReleased && isValid();
      },
      release: async () => {
        if (isReleased) return;
        isReleased = true;
        forget();
        while (!(await this.#tryRelease(name, leaseEpoch)) && isValid()) await elapse(RETRY_MS);
      },
    };
  }

  async #tryRelease(name: string, leaseEpoch: number): Promise<boolean> {
    const run = (transaction: Transaction) => transaction.run(release, [name, leaseEpoch]);
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
