// Rows and statements of the run table, shared by SQLite and PostgreSQL.

import type { Delivery } from './delivery.ts';
import { MAX_READ_BYTES } from './record-texts.ts';
import type { Run, RunNote } from './run.ts';

/** Columns of `run JOIN delivery`. `figures` is the usage of the run (tokens, cost, calls), as JSON text. */
export const runColumns = `run.seq, delivery.id, run.kind, run.name, run.figures,
  (SELECT coalesce(max(n), 0) FROM step WHERE step.seq = run.seq)`;

export type RunRow = readonly [
  seq: number,
  id: string,
  kind: string,
  name: string,
  figures: string,
  steps: number,
];

export const oneRun = `SELECT ${runColumns} FROM run JOIN delivery ON delivery.seq = run.seq WHERE delivery.id = ?1`;

export const noteRun = `INSERT INTO run (seq, kind, name, figures) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT (seq) DO UPDATE SET kind = excluded.kind, name = excluded.name, figures = excluded.figures`;

export const lastStep = 'SELECT n, total FROM step WHERE seq = ?1 ORDER BY n DESC LIMIT 1';

/**
 * Query for the steps above a number: at least one step, limited to MAX_READ_BYTES. The column `total` is the
 * size of the journal up to the step, in bytes.
 */
export const stepsAfter = `SELECT n, at, text FROM step WHERE seq = (SELECT seq FROM delivery WHERE id = ?1) AND n > ?2
  AND (n = ?2 + 1 OR total <= ${MAX_READ_BYTES} + (SELECT coalesce(max(total), 0) FROM step
    WHERE seq = (SELECT seq FROM delivery WHERE id = ?1) AND n = ?2))
  ORDER BY n LIMIT 1000`;

/** Returns undefined if the delivery is missing. */
export function runOf(row: RunRow, delivery: Delivery | undefined): Run | undefined {
  const [, , kind, name, figures, steps] = row;
  return delivery && { delivery, kind: kind as RunNote['kind'], name, figures, steps };
}
