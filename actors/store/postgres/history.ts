// Lists the records of deliveries in PostgreSQL, and removes those whose retention is over. Both go through the records in parts of
// bounded size, and the caller comes back for the next part.
//
// Records lie nearly in the order in which they came: where a whole part came before `since`, so did all before it.
//
// Only what has ended, longer ago than the retention, is removed; its id may come again after that.

import type { Delivery, DeliveryCounts, DeliveryFilter, DeliveryPage, Failure } from '../delivery.ts';
import {
  bodyOfDelivery,
  countStates,
  countsOf,
  type DeliveryRow,
  deliveryColumns,
  deliveryOf,
  oneDelivery,
} from '../delivery-row.ts';
import { firstSettled, stateOf } from '../delivery-states.ts';
import type { SweptPart } from '../ledger.ts';
import { deliveriesPart, type EndRow, nextPart, postgresText } from '../list-queries.ts';
import { storable } from '../record-texts.ts';
import type { Standing } from '../store.ts';
import { statement, type Transaction } from './database.ts';

/** Records looked at for one part of a sweep. */
const SWEPT_AT_ONCE = 500;

type Row = DeliveryRow<readonly Failure[]>;

const bySeqs = statement<Row>(
  `SELECT ${deliveryColumns} FROM delivery WHERE seq = ANY ($1) ORDER BY seq DESC`,
);
const byId = statement<Row>(postgresText(oneDelivery));
const standings = statement<readonly [id: string, state: number, attempts: number, steps: number]>(
  `SELECT id, state, attempts, coalesce((SELECT max(n) FROM step WHERE step.seq = delivery.seq), 0)
   FROM delivery WHERE id = ANY ($1)`,
);
const bodyOf = statement<readonly [meta: string, body: Uint8Array]>(postgresText(bodyOfDelivery));
const countAll = statement<readonly [state: number, count: number]>(countStates);
const countUnfinished = statement<readonly [number]>(
  `SELECT (SELECT count(*) FROM delivery WHERE state < ${firstSettled})
     + (SELECT count(*) FROM delivery WHERE waits_for IS NOT NULL)`,
);
const oldest = statement<readonly [seq: number, at: number, isOver: boolean]>(
  'SELECT seq, at, coalesce(ended < $2, false) FROM delivery WHERE seq > $1 ORDER BY seq LIMIT $3',
);
const removals = ['delivery', 'body', 'progress', 'run', 'step', 'approval'].map((table) =>
  statement(`DELETE FROM ${table} WHERE seq = ANY ($1)`),
);

export async function deliveryPage(transaction: Transaction, filter: DeliveryFilter): Promise<DeliveryPage> {
  const part = deliveriesPart(filter);
  const rows = await transaction.list<Row>(part.rows);
  const deliveries = rows.map(delivered);
  if (rows.length === part.limit) return { deliveries, beforeSeq: rows.at(-1)?.[0] };
  const [end] = await transaction.list<EndRow>(part.end);
  return { deliveries, beforeSeq: nextPart(part, end) };
}

/** Of those that are known. */
export async function standingsOf(
  transaction: Transaction,
  ids: readonly string[],
): Promise<readonly Standing[]> {
  const given = new Map(ids.map((id) => [storable(id), id]));
  const rows = await transaction.rows(standings, [[...given.keys()]]);
  return rows.map(([id, state, attempts, steps]) => ({
    ...{ id: given.get(id) ?? id, state: stateOf(state), attempts, steps },
  }));
}

export async function findDelivery(
  transaction: Transaction,
  id: string,
): Promise<(Delivery & { readonly meta: string; readonly body: Uint8Array }) | undefined> {
  const [row] = await transaction.rows(byId, [storable(id)]);
  const [body] = row === undefined ? [] : await transaction.rows(bodyOf, [row[0]]);
  if (row === undefined || body === undefined) return undefined;
  return { ...delivered(row), meta: body[0], body: body[1] };
}

/** The newest first. */
export async function deliveriesOf(
  transaction: Transaction,
  seqs: readonly number[],
): Promise<readonly Delivery[]> {
  return (await transaction.rows(bySeqs, [seqs])).map(delivered);
}

export async function stateCounts(transaction: Transaction): Promise<DeliveryCounts> {
  return countsOf(await transaction.rows(countAll));
}

/** How many wait, for whatever, or run. */
export async function unfinished(transaction: Transaction): Promise<number> {
  return (await transaction.rows(countUnfinished))[0]?.[0] ?? 0;
}

/** Removes records that ended before that time, among the next after `afterSeq`. */
export async function sweepDeliveries(
  transaction: Transaction,
  afterSeq: number,
  before: number,
): Promise<SweptPart> {
  const rows = await transaction.rows(oldest, [afterSeq, before, SWEPT_AT_ONCE]);
  // Records lie in the order in which they came: none after this one can have ended before.
  const end = rows.findIndex(([, at]) => at >= before && at <= transaction.now);
  const over = (end === -1 ? rows : rows.slice(0, end)).filter(([, , isOver]) => isOver).map(([seq]) => seq);
  if (over.length > 0) for (const removal of removals) await transaction.run(removal, [over]);
  const isEnd = end !== -1 || rows.length < SWEPT_AT_ONCE;
  return { removed: over.length, afterSeq: isEnd ? undefined : rows.at(-1)?.[0] };
}

const delivered = (row: Row): Delivery => deliveryOf(row, (failures) => failures);
