// The journals of events, row by row, and what lists show of the events that have one.
//
// SQR1  rows of an event are numbered from 1 without a gap; what was written is never written over.
// SQR2  a journal has at most 10,000 rows and 64 MiB: it is removed in one transaction, which others wait for.

import type { Delivery } from '../delivery.ts';
import { stateCodes } from '../delivery-states.ts';
import { checkJournal, READ_AT_ONCE } from '../journal-limits.ts';
import { LOOKED_AT, limitOfPart } from '../list-parts.ts';
import { NAME_LENGTH } from '../record-texts.ts';
import type { Run, RunFilter, RunNote, RunPage, Step } from '../run.ts';
import { storable } from '../storable.ts';
import type { TurnResult } from '../store.ts';
import type { SqliteConnection, SqlValue, Statement } from './connection.ts';
import { indexedBy, type Newest, newestOf } from './newest-records.ts';

const SEQ_OF_ID = '(SELECT seq FROM delivery WHERE id = ?)';

type RunRow = readonly [seq: number, id: string, kind: string, name: string, figures: string, steps: number];

const columns = `run.seq, delivery.id, run.kind, run.name, run.figures,
  (SELECT coalesce(max(n), 0) FROM step WHERE step.seq = run.seq)`;

export class SqliteRuns {
  readonly #connection: SqliteConnection;
  readonly #last: Statement<readonly [n: number, total: number]>;
  readonly #add: Statement<readonly []>;
  readonly #note: Statement<readonly []>;
  readonly #mark: Statement<readonly []>;
  readonly #rows: Statement<readonly [number, number, string]>;
  readonly #one: Statement<RunRow>;
  readonly #removeSteps: Statement<readonly []>;
  readonly #removeRun: Statement<readonly []>;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
    this.#last = connection.prepare('SELECT n, total FROM step WHERE seq = ? ORDER BY n DESC LIMIT 1');
    this.#add = connection.prepare('INSERT INTO step (seq, n, at, total, text) VALUES (?, ?, ?, ?, ?)');
    this.#note = connection.prepare(
      `INSERT INTO run (seq, kind, name, figures) VALUES (?, ?, ?, ?)
       ON CONFLICT (seq) DO UPDATE SET kind = excluded.kind, name = excluded.name, figures = excluded.figures`,
    );
    this.#mark = connection.prepare('UPDATE delivery SET has_progress = 1 WHERE seq = ?');
    this.#rows = connection.prepare(
      `SELECT n, at, text FROM step WHERE seq = ${SEQ_OF_ID} AND n > ?
         AND (n = ? + 1 OR total <= ${READ_AT_ONCE} +
           (SELECT coalesce(max(total), 0) FROM step WHERE seq = ${SEQ_OF_ID} AND n = ?))
       ORDER BY n LIMIT 1000`,
    );
    this.#one = connection.prepare(
      `SELECT ${columns} FROM run JOIN delivery ON delivery.seq = run.seq WHERE delivery.id = ?`,
    );
    this.#removeSteps = connection.prepare('DELETE FROM step WHERE seq = ?');
    this.#removeRun = connection.prepare('DELETE FROM run WHERE seq = ?');
  }

  /** What a turn says of the run that its event is. */
  keep({ seq, steps = [], run }: TurnResult, now: number): void {
    if (run === undefined && steps.length === 0) return;
    this.#mark.run([seq]);
    if (run !== undefined)
      this.#note.run([seq, run.kind, storable(run.name.slice(0, NAME_LENGTH)), storable(run.figures)]);
    let [n, total] = this.#last.get([seq]) ?? EMPTY;
    for (const text of steps) {
      n += 1;
      total += Buffer.byteLength(text);
      this.#add.run([seq, n, now, total, storable(text)]);
    }
  }

  /** Throws InternalError where the rows do not fit into the journal any more: whoever writes one ends before that. */
  checkRoom({ seq, steps = [] }: TurnResult): void {
    if (steps.length === 0) return;
    const [n, total] = this.#last.get([seq]) ?? EMPTY;
    const bytes = steps.reduce((sum, text) => sum + Buffer.byteLength(text), total);
    checkJournal(n + steps.length, bytes);
  }

  /** Its journal is forgotten: it begins anew, or is gone. Gives how many bytes it had. */
  drop(seq: number): number {
    const [, bytes] = this.#last.get([seq]) ?? EMPTY;
    this.#removeSteps.run([seq]);
    this.#removeRun.run([seq]);
    return bytes;
  }

  steps(id: string, after: number): readonly Step[] {
    const key = storable(id);
    return this.#rows.all([key, after, after, key, after]).map(([n, at, text]) => ({ n, at, text }));
  }

  run(id: string, deliveryOf: (id: string) => Delivery | undefined): Run | undefined {
    const row = this.#one.get([storable(id)]);
    return row && runOf(row, deliveryOf);
  }

  page(filter: RunFilter, deliveryOf: (id: string) => Delivery | undefined): RunPage {
    const { states = [], kind, name } = filter;
    const limit = limitOfPart(filter);
    const parts = ['true'];
    const values: SqlValue[] = [];
    if (states.length > 0)
      parts.push(`delivery.state IN (${states.map((state) => stateCodes[state]).join(', ')})`);
    if (kind !== undefined) {
      parts.push('run.kind = ?');
      values.push(kind);
    }
    if (name !== undefined) {
      parts.push('run.name = ?');
      values.push(storable(name));
    }
    // In the order of what is looked at, so that no more is read than the page has room for.
    const looked = lookedAt(filter);
    const rows = this.#connection
      .prepare<RunRow>(
        `SELECT ${columns} FROM run CROSS JOIN delivery ON delivery.seq = run.seq
         WHERE run.seq IN (${looked.sql}) AND ${parts.join(' AND ')} ORDER BY run.seq DESC LIMIT ${limit}`,
      )
      .all([...looked.values, ...values]);
    const runs = rows.flatMap((row) => runOf(row, deliveryOf) ?? []);
    if (rows.length === limit) return { runs, beforeSeq: rows.at(-1)?.[0] };
    const end = this.#connection
      .prepare<readonly [number | null, number]>(`SELECT min(seq), count(*) FROM (${looked.sql})`)
      .get(looked.values);
    const isEnd = (end?.[1] ?? 0) < LOOKED_AT;
    return { runs, beforeSeq: isEnd ? undefined : (end?.[0] ?? undefined) };
  }
}

const EMPTY = [0, 0] as const;

/** Those in the states, where an index knows these; else those of the name, which another one knows; else all. */
function lookedAt({ states = [], name, beforeSeq }: RunFilter): Newest {
  const sources = indexedBy(states);
  if (sources !== undefined) return newestOf('seq', sources, beforeSeq);
  if (name === undefined) return newestOf('seq', ['run WHERE true'], beforeSeq);
  return newestOf('seq', ['run INDEXED BY run_name WHERE name = ?'], beforeSeq, [storable(name)]);
}

function runOf(row: RunRow, deliveryOf: (id: string) => Delivery | undefined): Run | undefined {
  const [, id, kind, name, figures, steps] = row;
  const delivery = deliveryOf(id);
  return delivery && { delivery, kind: kind as RunNote['kind'], name, figures, steps };
}
