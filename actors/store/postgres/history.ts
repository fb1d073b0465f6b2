// Lists the records of deliveries in PostgreSQL, and removes those whose retention is over. Both go through the records in parts of
// bounded size, and the caller comes back for the next part.
//
// Records lie nearly in the order in which they came: where a whole part came before `since`, so did all before it.
//
// Only what has ended, longer ago than the retention, is removed; its id may come again after that.

import type { Delivery, DeliveryCounts, DeliveryFilter, DeliveryPage, Failure } from '../delivery.ts';
import { comparedColumns, type DeliveryRow, deliveryColumns, deliveryOf } from '../delivery-row.ts';
import { firstSettled, stateCodes, stateOf } from '../delivery-states.ts';
import type { SweptPart } from '../ledger.ts';
import { LOOKED_AT, limitOfPart } from '../list-parts.ts';
import { storable } from '../storable.ts';
import type { Standing } from '../store.ts';
import { statement, type Transaction } from './database.ts';
import { newestOf, sourceOf } from './newest-records.ts';

/** Records looked at for one part of a sweep. */
const SWEPT_AT_ONCE = 500;

type Row = DeliveryRow<readonly Failure[]>;

const bySeqs = statement<Row>(
  `SELECT ${deliveryColumns} FROM delivery WHERE seq = ANY ($1) ORDER BY seq DESC`,
);
const byId = statement<Row>(`SELECT ${deliveryColumns} FROM delivery WHERE id = $1`);
const standings = statement<readonly [id: string, state: number, attempts: number, steps: number]>(
  `SELECT id, state, attempts, coalesce((SELECT max(n) FROM step WHERE step.seq = delivery.seq), 0)
   FROM delivery WHERE id = ANY ($1)`,
);
const bodyOf = statement<readonly [meta: string, body: Uint8Array]>(
  'SELECT meta, body FROM body WHERE seq = $1',
);
const countAll = statement<readonly [state: number, count: number]>(
  `SELECT state, count(*) FROM delivery WHERE state < ${firstSettled} GROUP BY state
   UNION ALL SELECT ${stateCodes.dead}, count(*) FROM delivery WHERE state = ${stateCodes.dead}
   UNION ALL SELECT ${stateCodes.waiting}, count(*) FROM delivery WHERE waits_for IS NOT NULL`,
);
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
  const { states = [], beforeSeq } = filter;
  const limit = limitOfPart(filter);
  const values: unknown[] = [beforeSeq ?? Number.MAX_SAFE_INTEGER];
  const source = sourceOf(states) ?? 'delivery WHERE true';
  // The inner part bounds what is looked at; within it everything may be compared.
  const where = conditions(filter, values);
  const rows = await transaction.ask<Row>(
    `SELECT ${deliveryColumns} FROM delivery WHERE seq IN (SELECT seq FROM (${newestOf(comparedColumns, source, '$1')}) AS looked
       WHERE ${where} ORDER BY seq DESC LIMIT ${limit}) ORDER BY seq DESC`,
    values,
  );
  const deliveries = rows.map(delivered);
  if (rows.length === limit) return { deliveries, beforeSeq: rows.at(-1)?.[0] };
  const [end] = await transaction.ask<readonly [number | null, number, number | null]>(
    `SELECT min(seq), count(*), max(at) FROM (${newestOf('seq, at', source, '$1')}) AS looked`,
    values.slice(0, 1),
  );
  if (end === undefined) return { deliveries, beforeSeq: undefined };
  const [oldestSeq, count, newestAt] = end;
  const isEnd = count < LOOKED_AT || (newestAt ?? 0) < (filter.since ?? 0);
  return { deliveries, beforeSeq: isEnd ? undefined : (oldestSeq ?? undefined) };
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

export async function countStates(transaction: Transaction): Promise<DeliveryCounts> {
  const counts = { queued: 0, running: 0, retrying: 0, held: 0, waiting: 0, dead: 0 };
  for (const [code, count] of await transaction.rows(countAll)) {
    const state = stateOf(code);
    if (state !== 'done' && state !== 'ignored') counts[state] = count;
  }
  return counts;
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

function conditions(filter: DeliveryFilter, values: unknown[]): string {
  const parts = ['true'];
  const given = (value: unknown) => `$${values.push(value)}`;
  const { states, trigger, idPrefix, keyPrefix, since } = filter;
  if (states !== undefined && states.length > 0)
    parts.push(`state IN (${states.map((state) => stateCodes[state]).join(', ')})`);
  if (trigger !== undefined) parts.push(`trigger = ${given(storable(trigger))}`);
  if (idPrefix !== undefined) parts.push(`starts_with(id, ${given(storable(idPrefix))})`);
  if (keyPrefix !== undefined) parts.push(`starts_with(key, ${given(storable(keyPrefix))})`);
  if (since !== undefined) parts.push(`at >= ${given(since)}`);
  return parts.join(' AND ');
}

const delivered = (row: Row): Delivery => deliveryOf(row, (failures) => failures);
