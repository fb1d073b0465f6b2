// Read operations of the store on PostgreSQL. A long list is read in several parts (list-parts.ts), each in a
// separate transaction.

import type { ApprovalFilter } from '../approval.ts';
import type { Delivery, DeliveryFilter, DeliveryPage } from '../delivery.ts';
import { gatherDeliveries, gatherDeliveryPage, gatherRuns } from '../list-parts.ts';
import type { RunFilter, RunPage } from '../run.ts';
import type { Store } from '../store.ts';
import { accessKeysAfter } from './access-keys.ts';
import { findApproval, listApprovals } from './approvals.ts';
import { deliveryPage, findDelivery, stateCounts, statusesOf } from './history.ts';
import { holders, withReceipt } from './operations.ts';
import { findRun, runPage, stepsAfter } from './runs.ts';
import type { StoreTransactions } from './transactions.ts';
import * as values from './values-and-leases.ts';

type ReadOperation =
  | 'accessKeys'
  | 'owner'
  | 'lastTick'
  | 'get'
  | 'keys'
  | 'deliveries'
  | 'deliveryPage'
  | 'delivery'
  | 'statuses'
  | 'steps'
  | 'runs'
  | 'run'
  | 'approvals'
  | 'approval'
  | 'withReceipt'
  | 'holders'
  | 'counts';

export class PostgresRecords implements Pick<Store, ReadOperation> {
  protected readonly transactions: StoreTransactions;

  constructor(transactions: StoreTransactions) {
    this.transactions = transactions;
  }

  accessKeys(afterVersion: number) {
    return this.transactions.run((transaction) => accessKeysAfter(transaction, afterVersion));
  }

  owner(name: string) {
    return this.transactions.run((transaction) => values.owner(transaction, name));
  }

  lastTick(name: string) {
    return this.transactions.run((transaction) => values.lastTick(transaction, name));
  }

  get(space: string, key: string) {
    return this.transactions.run((transaction) => values.get(transaction, space, key));
  }

  keys(space: string) {
    return this.transactions.run((transaction) => values.keysOf(transaction, space));
  }

  deliveries(filter: DeliveryFilter): Promise<readonly Delivery[]> {
    return gatherDeliveries(filter, this.#part);
  }

  deliveryPage(filter: DeliveryFilter): Promise<DeliveryPage> {
    return gatherDeliveryPage(filter, this.#part);
  }

  delivery(id: string) {
    return this.transactions.run((transaction) => findDelivery(transaction, id));
  }

  statuses(ids: readonly string[]) {
    return this.transactions.run((transaction) => statusesOf(transaction, ids));
  }

  steps(id: string, after = 0) {
    return this.transactions.run((transaction) => stepsAfter(transaction, id, after));
  }

  runs(filter: RunFilter): Promise<RunPage> {
    return gatherRuns(filter, (part) => this.transactions.run((transaction) => runPage(transaction, part)));
  }

  run(id: string) {
    return this.transactions.run((transaction) => findRun(transaction, id));
  }

  approvals(filter: ApprovalFilter) {
    return this.transactions.run((transaction) => listApprovals(transaction, filter));
  }

  approval(id: string) {
    return this.transactions.run((transaction) => findApproval(transaction, id));
  }

  withReceipt(keyPrefix: string, receipt: string) {
    return this.transactions.run((transaction) => withReceipt(transaction, keyPrefix, receipt));
  }

  holders() {
    return this.transactions.run(holders);
  }

  counts() {
    return this.transactions.run(stateCounts);
  }

  readonly #part = (filter: DeliveryFilter) =>
    this.transactions.run((transaction) => deliveryPage(transaction, filter));
}
