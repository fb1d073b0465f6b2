// Journals and approvals of runs, and run lists. Journal steps are numbered from 1 without gaps, and are
// immutable. A journal is limited to 10,000 rows and 64 MiB, because a single transaction deletes it, which
// delays other calls.

import type { DecidedApproval, NewDecision } from '../approval.ts';
import type { Delivery } from '../delivery.ts';
import type { NewEvent } from '../event.ts';
import { type EndRow, nextPart, runsPart } from '../list-queries.ts';
import { checkJournal, NAME_LENGTH, toStorableText } from '../record-texts.ts';
import type { Run, RunFilter, RunPage, Step } from '../run.ts';
import { lastStep, noteRun, oneRun, type RunRow, runOf, stepsAfter } from '../run-row.ts';
import type { TurnResult } from '../store.ts';
import { SqliteApprovals } from './approvals.ts';
import type { SqliteConnection, SqliteStatement } from './connection.ts';

/** Journals and approvals of runs, which change and are deleted together. */
export class RunRecords {
  readonly journals: SqliteRuns;
  readonly approvals: SqliteApprovals;
  readonly #append: (event: NewEvent, now: number) => void;

  /** `append` adds the events of decisions and cancelled approvals. */
  constructor(connection: SqliteConnection, append: (event: NewEvent, now: number) => void) {
    this.journals = new SqliteRuns(connection);
    this.approvals = new SqliteApprovals(connection);
    this.#append = append;
  }

  /** Writes the journal, summary and approvals of a run. */
  write(result: TurnResult, now: number): void {
    this.journals.write(result, now);
    if (result.outcome !== 'checkpoint' && result.outcome !== 'parked') return;
    for (const approval of result.asks ?? []) this.approvals.open(result.seq, approval, now);
  }

  /** Cancels the event's pending approvals. */
  end(seq: number, now: number): void {
    for (const event of this.approvals.cancel(seq, now)) this.#append(event, now);
  }

  /** Deletes the run, and returns the bytes of the journal. */
  remove(seq: number): number {
    this.approvals.remove(seq);
    return this.journals.drop(seq);
  }

  decide(id: string, { state, decision, emit }: NewDecision, now: number): DecidedApproval | undefined {
    const isFirst = this.approvals.decide(id, state, decision, now);
    if (isFirst) for (const event of emit) this.#append(event, now);
    const approval = this.approvals.find(id, now);
    return approval && { isFirst, approval };
  }
}

export class SqliteRuns {
  readonly #connection: SqliteConnection;
  readonly #last: SqliteStatement<readonly [n: number, total: number]>;
  readonly #add: SqliteStatement<readonly []>;
  readonly #note: SqliteStatement<readonly []>;
  readonly #mark: SqliteStatement<readonly []>;
  readonly #rows: SqliteStatement<readonly [number, number, string]>;
  readonly #one: SqliteStatement<RunRow>;
  readonly #removeSteps: SqliteStatement<readonly []>;
  readonly #removeRun: SqliteStatement<readonly []>;

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

  /** Writes journal steps and the summary of a run. */
  write({ seq, steps = [], run }: TurnResult, now: number): void {
    if (run === undefined && steps.length === 0) return;
    this.#mark.run([seq]);
    if (run !== undefined)
      this.#note.run([
        seq,
        run.kind,
        toStorableText(run.name.slice(0, NAME_LENGTH)),
        toStorableText(run.figures),
      ]);
    let [n, total] = this.#last.get([seq]) ?? EMPTY;
    for (const text of steps) {
      n += 1;
      total += Buffer.byteLength(text);
      this.#add.run([seq, n, now, total, toStorableText(text)]);
    }
  }

  /**
   * Throws InternalError if the rows would exceed the journal's limit. Writers are expected to stop earlier.
   */
  checkCapacity({ seq, steps = [] }: TurnResult): void {
    if (steps.length === 0) return;
    const [n, total] = this.#last.get([seq]) ?? EMPTY;
    const bytes = steps.reduce((sum, text) => sum + Buffer.byteLength(text), total);
    checkJournal(n + steps.length, bytes);
  }

  /** Deletes the journal of a restarted or deleted event. Returns its size in bytes. */
  drop(seq: number): number {
    const [, bytes] = this.#last.get([seq]) ?? EMPTY;
    this.#removeSteps.run([seq]);
    this.#removeRun.run([seq]);
    return bytes;
  }

  steps(id: string, after: number): readonly Step[] {
    return this.#rows.all([toStorableText(id), after]).map(([n, at, text]) => ({ n, at, text }));
  }

  run(id: string, deliveryOf: (id: string) => Delivery | undefined): Run | undefined {
    const row = this.#one.get([toStorableText(id)]);
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
