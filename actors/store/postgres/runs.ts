// The journals of events in PostgreSQL, row by row, and what lists show of the events that have one.
//
// Rows of an event are numbered from 1 without a gap; what was written is never written over.
// A journal has at most 10,000 rows and 64 MiB.

import type { Delivery } from '../delivery.ts';
import { stateCodes } from '../delivery-states.ts';
import { checkJournal, READ_AT_ONCE } from '../journal-limits.ts';
import { LOOKED_AT, limitOfPart } from '../list-parts.ts';
import { NAME_LENGTH } from '../record-texts.ts';
import type { Run, RunFilter, RunNote, RunPage, Step } from '../run.ts';
import { storable } from '../storable.ts';
import type { TurnResult } from '../store.ts';
import { statement, type Transaction } from './database.ts';
import { deliveriesOf } from './history.ts';
import { newestOf, sourceOf } from './newest-records.ts';

type RunRow = readonly [seq: number, id: string, kind: string, name: string, figures: string, steps: number];

const columns = `run.seq, delivery.id, run.kind, run.name, run.figures,
  (SELECT coalesce(max(n), 0) FROM step WHERE step.seq = run.seq)`;

const last = statement<readonly [n: number, total: number]>(
  'SELECT n, total FROM step WHERE seq = $1 ORDER BY n DESC LIMIT 1',
);
const addAll = statement(
  `INSERT INTO step (seq, n, at, total, text)
   SELECT $1, n, $2, total, text FROM json_to_recordset($3::json) AS row (n int, total bigint, text text)`,
);
const noteRun = statement(
  `INSERT INTO run (seq, kind, name, figures) VALUES ($1, $2, $3, $4)
   ON CONFLICT (seq) DO UPDATE SET kind = excluded.kind, name = excluded.name, figures = excluded.figures`,
);
const mark = statement('UPDATE delivery SET has_progress = true WHERE seq = $1 AND NOT has_progress');
const rowsAfter = statement<readonly [n: number, at: number, text: string]>(
  `WITH journal AS (SELECT seq FROM delivery WHERE id = $1)
   SELECT n, at, text FROM step JOIN journal USING (seq) WHERE n > $2
     AND (n = $2 + 1 OR total <= ${READ_AT_ONCE} + (SELECT coalesce(max(total), 0) FROM step JOIN journal USING (seq) WHERE n = $2))
   ORDER BY n LIMIT 1000`,
);
const one = statement<RunRow>(
  `SELECT ${columns} FROM run JOIN delivery ON delivery.seq = run.seq WHERE delivery.id = $1`,
);
const dropRuns = statement('DELETE FROM run WHERE seq = ANY ($1)');
const dropSteps = statement('DELETE FROM step WHERE seq = ANY ($1)');
const dropApprovals = statement('DELETE FROM approval WHERE seq = ANY ($1)');

/** What a turn says of the run that its event is. Throws InternalError where the rows do not fit into the journal any more. */
export async function keepRun(transaction: Transaction, result: TurnResult): Promise<void> {
  const { seq, steps = [], run } = result;
  if (run === undefined && steps.length === 0) return;
  await transaction.run(mark, [seq]);
  if (run !== undefined)
    await transaction.run(noteRun, [
      seq,
      run.kind,
      storable(run.name.slice(0, NAME_LENGTH)),
      storable(run.figures),
    ]);
  if (steps.length === 0) return;
  const [[n, before] = EMPTY] = await transaction.rows(last, [seq]);
  let total = before;
  const rows = steps.map((text, index) => {
    total += Buffer.byteLength(text);
    return { n: n + index + 1, total, text: storable(text) };
  });
  checkJournal(n + steps.length, total);
  await transaction.run(addAll, [seq, transaction.now, JSON.stringify(rows)]);
}

/** There is nothing of these runs any more: they begin anew, or are gone. */
export async function dropRun(transaction: Transaction, seqs: readonly number[]): Promise<void> {
  for (const drop of [dropRuns, dropSteps, dropApprovals]) await transaction.run(drop, [seqs]);
}

export async function stepsAfter(
  transaction: Transaction,
  id: string,
  after: number,
): Promise<readonly Step[]> {
  const rows = await transaction.rows(rowsAfter, [storable(id), after]);
  return rows.map(([n, at, text]) => ({ n, at, text }));
}

export async function findRun(transaction: Transaction, id: string): Promise<Run | undefined> {
  return (await runsOf(transaction, await transaction.rows(one, [storable(id)])))[0];
}

export async function runPage(transaction: Transaction, filter: RunFilter): Promise<RunPage> {
  const { states = [], kind, name, beforeSeq } = filter;
  const limit = limitOfPart(filter);
  const values: unknown[] = [];
  const given = (value: unknown) => `$${values.push(value)}`;
  const ofName = name === undefined ? undefined : given(storable(name));
  const source = sourceOf(states) ?? (ofName === undefined ? 'run WHERE true' : `run WHERE name = ${ofName}`);
  const looked = newestOf('seq', source, given(beforeSeq ?? Number.MAX_SAFE_INTEGER));
  const parts = ['true'];
  if (states.length > 0)
    parts.push(`delivery.state IN (${states.map((state) => stateCodes[state]).join(', ')})`);
  if (kind !== undefined) parts.push(`run.kind = ${given(kind)}`);
  if (ofName !== undefined) parts.push(`run.name = ${ofName}`);
  const rows = await transaction.ask<RunRow>(
    `SELECT ${columns} FROM run JOIN delivery ON delivery.seq = run.seq
     WHERE run.seq IN (${looked}) AND ${parts.join(' AND ')} ORDER BY run.seq DESC LIMIT ${limit}`,
    values,
  );
  const runs = await runsOf(transaction, rows);
  if (rows.length === limit) return { runs, beforeSeq: rows.at(-1)?.[0] };
  // What only the comparisons need is no value of this.
  const ends = await transaction.ask<readonly [number | null, number]>(
    `SELECT min(seq), count(*) FROM (${looked}) AS looked`,
    values.slice(0, ofName === undefined ? 1 : 2),
  );
  const isEnd = (ends[0]?.[1] ?? 0) < LOOKED_AT;
  return { runs, beforeSeq: isEnd ? undefined : (ends[0]?.[0] ?? undefined) };
}

async function runsOf(transaction: Transaction, rows: readonly RunRow[]): Promise<readonly Run[]> {
  const found = await deliveriesOf(
    transaction,
    rows.map(([seq]) => seq),
  );
  const bySeq = new Map<number, Delivery>(found.map((delivery) => [delivery.seq, delivery]));
  return rows.flatMap(([seq, , kind, name, figures, steps]) => {
    const delivery = bySeq.get(seq);
    return delivery === undefined ? [] : [{ delivery, kind: kind as RunNote['kind'], name, figures, steps }];
  });
}

const EMPTY = [0, 0] as const;
