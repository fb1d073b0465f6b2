// What few events have beside their record: the state kept of one along its way, the event that woke it last, how far its journal goes.

import { postgresText } from '../list-queries.ts';
import {
  copyWaker,
  type Extras,
  type ExtrasRow,
  extrasOf,
  removeWaker,
  selectExtras,
  setState,
} from '../progress-row.ts';
import { storable } from '../record-texts.ts';
import { statement, type Transaction } from './database.ts';

const extras = statement<ExtrasRow>(`${selectExtras} = ANY ($1)`);
const stateOf = statement<readonly [string | null]>('SELECT state FROM progress WHERE seq = $1');
const keep = statement(postgresText(setState));
const forget = statement('DELETE FROM progress WHERE seq = $1');
const forgetWoken = statement(postgresText(removeWaker));
const copy = statement(postgresText(copyWaker));

export async function extrasBySeq(
  transaction: Transaction,
  seqs: readonly number[],
): Promise<ReadonlyMap<number, Extras>> {
  if (seqs.length === 0) return new Map();
  const rows = await transaction.rows(extras, [seqs]);
  return new Map(rows.map((row) => [row[0], extrasOf(row)]));
}

/** Undefined leaves it as it is, null removes it. Gives whether it was another one before. */
export async function keepState(
  transaction: Transaction,
  seq: number,
  state: string | null | undefined,
): Promise<boolean> {
  if (state === undefined) return false;
  const kept = state === null ? null : storable(state);
  const [before] = await transaction.rows(stateOf, [seq]);
  if (before !== undefined && before[0] === kept) return false;
  await transaction.run(keep, [seq, kept]);
  return kept !== (before?.[0] ?? null);
}

export async function forgetWaker(transaction: Transaction, seq: number): Promise<void> {
  await transaction.run(forgetWoken, [seq]);
}

export async function keepWaker(transaction: Transaction, seq: number, waker: number): Promise<void> {
  await transaction.run(copy, [seq, waker]);
}

/** What was kept of it is forgotten: it begins anew. */
export async function forgetProgress(transaction: Transaction, seq: number): Promise<void> {
  await transaction.run(forget, [seq]);
}
