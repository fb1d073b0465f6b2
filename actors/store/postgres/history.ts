// Lists delivery records, and deletes them after the retention time. Both work in parts of limited size; the
// caller requests the next part. Records are nearly in order of arrival, so a list is complete at the first
// part that is entirely older than `since`. Only records of finished events are deleted; deleted ids can be
// reused.

import type { Delivery, DeliveryCounts, DeliveryFilter, DeliveryPage, Failure } from '../delivery.ts';
import {
  bodyOfDelivery,
  countStates,
  countsOf,
  type DeliveryRow,
  deliveryOf,
  listedColumns,
  oneDelivery,
} from '../delivery-row.ts';
import { firstNonBlocking, stateOf } from '../delivery-states.ts';
import { deliveriesPart, type EndRow, nextPart, postgresText } from '../list-queries.ts';
import { toStorableText } from '../record-texts.ts';
import type { EventStatus } from '../store.ts';
import type { SweptPart } from '../sync-store.ts';
import { statement, type Transaction } from './database.ts';

/** Number of records scanned per sweep part. */
const MAX_SWEEP_RECORDS = 500;

type HistoryRow = DeliveryRow<readonly Failure[]>;

const listedBySeqs = statement<HistoryRow>(
  `SELECT ${listedColumns} FROM delivery WHERE seq = ANY ($1) ORDER BY seq DESC`,
);
const byId = statement<HistoryRow>(postgresText(oneDelivery));
const statuses = statement<readonly [id: string, state: number, attempts: number, steps: number]>(
  `SELECT id, state, attempts, coalesce((SELECT max(n) FROM step WHERE step.seq = delivery.seq), 0)
   FROM delivery WHERE id = ANY ($1)`,
);
const bodyOf = statement<readonly [meta: string, body: Uint8Array]>(postgresText(bodyOfDelivery));
const countAll = statement<readonly [state: number, count: number]>(countStates);
const countUnfinished = statement<readonly [number]>(
  `SELECT count(*) FROM delivery WHERE state < ${firstNonBlocking}`,
);
const oldest = statement<readonly [seq: number, at: number, isFinished: boolean]>(
  'SELECT seq, at, coalesce(ended < $2, false) FROM delivery WHERE seq > $1 ORDER BY seq LIMIT $3',
);
const removals = ['delivery', 'body', 'progress', 'run', 'step', 'approval'].map((table) =>
  statement(`DELETE FROM ${table} WHERE seq = ANY ($1)`),
);

export async function deliveryPage(transaction: Transaction, filter: DeliveryFilter): Promise<DeliveryPage> {
  const part = deliveriesPart(filter);
  const rows = await transaction.list<HistoryRow>(part.rows);
  const deliveries = rows.map(toDelivery);
  if (rows.length === part.limit) return { deliveries, beforeSeq: rows.at(-1)?.[0] };
  const [end] = await transaction.list<EndRow>(part.end);
  return { deliveries, beforeSeq: nextPart(part, end) };
}

/** Returns the status of known ids. */
export async function statusesOf(
  transaction: Transaction,
  ids: readonly string[],
): Promise<readonly EventStatus[]> {
  const idsByStored = new Map(ids.map((id) => [toStorableText(id), id]));
  const rows = await transaction.rows(statuses, [[...idsByStored.keys()]]);
  return rows.map(([storedId, code, attempts, steps]) => {
    const id = idsByStored.get(storedId) ?? storedId;
    return { id, state: stateOf(code), attempts, steps };
  });
}

export async function findDelivery(
  transaction: Transaction,
  id: string,
): Promise<(Delivery & { readonly meta: string; readonly body: Uint8Array }) | undefined> {
  const [row] = await transaction.rows(byId, [toStorableText(id)]);
  const [body] = row === undefined ? [] : await transaction.rows(bodyOf, [row[0]]);
  if (row === undefined || body === undefined) return undefined;
  return { ...toDelivery(row), meta: body[0], body: body[1] };
}

/** Newest first. */
export async function listedDeliveries(
  transaction: Transaction,
  seqs: readonly number[],
): Promise<readonly Delivery[]> {
  return (await transaction.rows(listedBySeqs, [seqs])).map(toDelivery);
}

/** Returns the record without its body. */
export async function findRecord(transaction: Transaction, id: string): Promise<Delivery | undefined> {
  const [row] = await transaction.rows(byId, [toStorableText(id)]);
  return row && toDelivery(row);
}

export async function stateCounts(transaction: Transaction): Promise<DeliveryCounts> {
  return countsOf(await transaction.rows(countAll));
}

/** Returns the number of unfinished events, without parked ones. */
export async function unfinished(transaction: Transaction): Promise<number> {
  return (await transaction.rows(countUnfinished))[0]?.[0] ?? 0;
}

/** Deletes records finished before `before`, with a number above `afterSeq`. */
export async function sweepDeliveries(
  transaction: Transaction,
  afterSeq: number,
  before: number,
): Promise<SweptPart> {
  const rows = await transaction.rows(oldest, [afterSeq, before, MAX_SWEEP_RECORDS]);
  // Records are in order of arrival: once a record has arrived after `before`, no later record can have
  // finished earlier.
  const end = rows.findIndex(([, at]) => at >= before && at <= transaction.now);
  const finished = (end === -1 ? rows : rows.slice(0, end))
    .filter(([, , isFinished]) => isFinished)
    .map(([seq]) => seq);
  if (finished.length > 0) for (const removal of removals) await transaction.run(removal, [finished]);
  const isEnd = end !== -1 || rows.length < MAX_SWEEP_RECORDS;
  return { removed: finished.length, afterSeq: isEnd ? undefined : rows.at(-1)?.[0] };
}

const toDelivery = (row: HistoryRow): Delivery => deliveryOf(row, (failures) => failures);
