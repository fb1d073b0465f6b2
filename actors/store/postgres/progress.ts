// Progress rows, which few events have: the saved state and the last waker.

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
import { toStorableText } from '../record-texts.ts';
import { statement, type Transaction } from './database.ts';

const extras = statement<ExtrasRow>(`${selectExtras} = ANY ($1)`);
const selectState = statement<readonly [string | null]>('SELECT state FROM progress WHERE seq = $1');
const writeState = statement(postgresText(setState));
const deleteExtras = statement('DELETE FROM progress WHERE seq = $1');
const clearWaker = statement(postgresText(removeWaker));
const copyToWoken = statement(postgresText(copyWaker));

export async function extrasBySeq(
  transaction: Transaction,
  seqs: readonly number[],
): Promise<ReadonlyMap<number, Extras>> {
  if (seqs.length === 0) return new Map();
  const rows = await transaction.rows(extras, [seqs]);
  return new Map(rows.map((row) => [row[0], extrasOf(row)]));
}

/** Saves the state: undefined leaves it unchanged, null removes it. Returns true for a changed state. */
export async function saveState(
  transaction: Transaction,
  seq: number,
  state: string | null | undefined,
): Promise<boolean> {
  if (state === undefined) return false;
  const stored = state === null ? null : toStorableText(state);
  const [before] = await transaction.rows(selectState, [seq]);
  if (before !== undefined && before[0] === stored) return false;
  await transaction.run(writeState, [seq, stored]);
  return stored !== (before?.[0] ?? null);
}

export async function deleteWaker(transaction: Transaction, seq: number): Promise<void> {
  await transaction.run(clearWaker, [seq]);
}

export async function copyWakerTo(transaction: Transaction, seq: number, waker: number): Promise<void> {
  await transaction.run(copyToWoken, [seq, waker]);
}

/** Deletes the progress when an event restarts: the state saved by its attempts. */
export async function deleteProgress(transaction: Transaction, seq: number): Promise<void> {
  await transaction.run(deleteExtras, [seq]);
}
