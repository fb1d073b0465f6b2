// Journals and run lists in PostgreSQL. A journal has the recorded steps of a run (table `step`), numbered
// from 1 without gaps and immutable. It is limited to 10,000 steps and 64 MiB.

import { type EndRow, nextPart, postgresText, runsPart } from '../list-queries.ts';
import { checkJournal, NAME_LENGTH, toStorableText } from '../record-texts.ts';
import type { Run, RunFilter, RunPage, Step } from '../run.ts';
import { lastStep, noteRun, oneRun, type RunRow, runOf, stepsAfter as stepsAfterText } from '../run-row.ts';
import type { TurnResult } from '../store.ts';
import { statement, type Transaction } from './database.ts';
import { findRecord, listedDeliveries } from './history.ts';

const selectLastStep = statement<readonly [n: number, total: number]>(postgresText(lastStep));
const insertSteps = statement(
  `INSERT INTO step (seq, n, at, total, text)
   SELECT $1, n, $2, total, text FROM json_to_recordset($3::json) AS row (n int, total bigint, text text)`,
);
const upsertRun = statement(postgresText(noteRun));
const markProgress = statement('UPDATE delivery SET has_progress = true WHERE seq = $1 AND NOT has_progress');
const selectStepsAfter = statement<readonly [n: number, at: number, text: string]>(
  postgresText(stepsAfterText),
);
const selectRun = statement<RunRow>(postgresText(oneRun));
const dropRuns = statement('DELETE FROM run WHERE seq = ANY ($1)');
const dropSteps = statement('DELETE FROM step WHERE seq = ANY ($1)');
const dropApprovals = statement('DELETE FROM approval WHERE seq = ANY ($1)');

/**
 * Writes journal steps and the summary of a run. Throws InternalError if the steps exceed the journal's
 * limit.
 */
export async function writeRun(transaction: Transaction, result: TurnResult): Promise<void> {
  const { seq, steps = [], run } = result;
  if (run === undefined && steps.length === 0) return;
  await transaction.run(markProgress, [seq]);
  if (run !== undefined)
    await transaction.run(upsertRun, [
      seq,
      run.kind,
      toStorableText(run.name.slice(0, NAME_LENGTH)),
      toStorableText(run.figures),
    ]);
  if (steps.length === 0) return;
  const [[n, before] = EMPTY] = await transaction.rows(selectLastStep, [seq]);
  let total = before;
  const rows = steps.map((text, index) => {
    total += Buffer.byteLength(text);
    return { n: n + index + 1, total, text: toStorableText(text) };
  });
  checkJournal(n + steps.length, total);
  await transaction.run(insertSteps, [seq, transaction.now, JSON.stringify(rows)]);
}

/** Deletes the journals and approvals of restarted or deleted runs. */
export async function deleteRuns(transaction: Transaction, seqs: readonly number[]): Promise<void> {
  for (const drop of [dropRuns, dropSteps, dropApprovals]) await transaction.run(drop, [seqs]);
}

export async function stepsAfter(
  transaction: Transaction,
  id: string,
  after: number,
): Promise<readonly Step[]> {
  const rows = await transaction.rows(selectStepsAfter, [toStorableText(id), after]);
  return rows.map(([n, at, text]) => ({ n, at, text }));
}

export async function findRun(transaction: Transaction, id: string): Promise<Run | undefined> {
  const [row] = await transaction.rows(selectRun, [toStorableText(id)]);
  return row && runOf(row, await findRecord(transaction, id));
}

export async function runPage(transaction: Transaction, filter: RunFilter): Promise<RunPage> {
  const part = runsPart(filter);
  const rows = await transaction.list<RunRow>(part.rows);
  const runs = await runsOf(transaction, rows);
  if (rows.length === part.limit) return { runs, beforeSeq: rows.at(-1)?.[0] };
  const [end] = await transaction.list<EndRow>(part.end);
  return { runs, beforeSeq: nextPart(part, end) };
}

async function runsOf(transaction: Transaction, rows: readonly RunRow[]): Promise<readonly Run[]> {
  const seqs = rows.map(([seq]) => seq);
  const bySeq = new Map(
    (await listedDeliveries(transaction, seqs)).map((delivery) => [delivery.seq, delivery]),
  );
  return rows.flatMap((row) => runOf(row, bySeq.get(row[0])) ?? []);
}

const EMPTY = [0, 0] as const;
