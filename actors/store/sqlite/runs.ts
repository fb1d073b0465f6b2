// Journals and approvals of runs, and the run lists.
//
// SQR1  rows of an event are numbered from 1 without a gap; what was written is never written over.
// SQR2  a journal has at most 10,000 rows and 64 MiB: it is removed in one transaction, which others wait for.

import type { DecidedApproval, NewDecision } from '../approval.ts';
import type { Delivery } from '../delivery.ts';
import type { NewEvent } from '../event.ts';
import { type EndRow, nextPart, runsPart } from '../list-queries.ts';
import { checkJournal, NAME_LENGTH, storable } from '../record-texts.ts';
import type { Run, RunFilter, RunPage, Step } from '../run.ts';
import { lastStep, noteRun, oneRun, type RunRow, runOf, stepsAfter } from '../run-row.ts';
import type { TurnResult } from '../store.ts';
import { SqliteApprovals } from './approvals.ts';
import type { SqliteConnection, Statement } from './connection.ts';

/** Journal and approvals per run; both change with turns and are removed together. */
export class RunRecords {
  readonly journals: SqliteRuns;
  readonly approvals: SqliteApprovals;
  readonly #append: (event: NewEvent, now: number) => void;

  /** `append` adds events for decisions and closed approvals. */
  constructor(connection: SqliteConnection, append: (event: NewEvent, now: number) => void) {
    this.journals = new SqliteRuns(connection);
    this.approvals = new SqliteApprovals(connection);
    this.#append = append;
  }

  /** Records the run of a turn; the end of a run closes its approvals. */
  keep(result: TurnResult, now: number): void {
    this.journals.keep(result, now);
    if (result.outcome !== 'checkpoint' && result.outcome !== 'parked') return;
    for (const asked of result.asks ?? []) this.approvals.ask(result.seq, asked, now);
  }

  /** Closes pending approvals. */
  end(seq: number, now: number): void {
    for (const event of this.approvals.cancel(seq, now)) this.#append(event, now);
  }

  /** Removes the run and returns the bytes of its journal. */
  remove(seq: number): number {
    this.approvals.remove(seq);
    return this.journals.drop(seq);
  }

  decide(id: string, { state, decision, emit }: NewDecision, now: number): DecidedApproval | undefined {
    const isFirst = this.approvals.decide(id, state, decision, now);
    if (isFirst) for (const event of emit) this.#append(event, now);
    const approval = this.approvals.find(id);
    return approval && { isFirst, approval };
  }
}

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
    this.#last = connection.prepare(lastStep);
    this.#add = connection.prepare('INSERT INTO step (seq, n, at, total, text) VALUES (?, ?, ?, ?, ?)');
    this.#note = connection.prepare(noteRun);
    this.#mark = connection.prepare('UPDATE delivery SET has_progress = 1 WHERE seq = ?');
    this.#rows = connection.prepare(stepsAfter);
    this.#one = connection.prepare(oneRun);
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
    return this.#rows.all([storable(id), after]).map(([n, at, text]) => ({ n, at, text }));
  }

  run(id: string, deliveryOf: (id: string) => Delivery | undefined): Run | undefined {
    const row = this.#one.get([storable(id)]);
    return row && runOf(row, deliveryOf(row[1]));
  }

  page(filter: RunFilter, deliveryOf: (id: string) => Delivery | undefined): RunPage {
    const part = runsPart(filter);
    const rows = this.#connection.list<RunRow>(part.rows);
    const runs = rows.flatMap((row) => runOf(row, deliveryOf(row[1])) ?? []);
    if (rows.length === part.limit) return { runs, beforeSeq: rows.at(-1)?.[0] };
    const [end] = this.#connection.list<EndRow>(part.end);
    return { runs, beforeSeq: nextPart(part, end) };
  }
}

const EMPTY = [0, 0] as const;
