// Approvals in the file: who was asked, and what was decided. The numbers of states stand in files on disk.
//
// SQA1  one is pending from the commit that asks until the first decision, or until its event ends or begins anew. Of those that
//       a run that goes on had asked before its end it asks again: they are pending once more.

import type { ApprovalFilter, Decided, NewApproval, StoredApproval } from '../approval.ts';
import {
  type ApprovalRow,
  approvalOf,
  approvalStates,
  askApproval,
  askedValues,
  decideApproval,
  oneApproval,
} from '../approval-row.ts';
import { DamagedRecordError } from '../damaged-record.ts';
import type { NewEvent } from '../event.ts';
import { limitOfPart } from '../list-parts.ts';
import { approvalsQuery } from '../list-queries.ts';
import { storable } from '../record-texts.ts';
import { readEvents } from '../written-events.ts';
import type { SqliteConnection, Statement } from './connection.ts';

export class SqliteApprovals {
  readonly #connection: SqliteConnection;
  readonly #ask: Statement<readonly []>;
  readonly #one: Statement<ApprovalRow>;
  readonly #decide: Statement<readonly []>;
  readonly #toldOfCancel: Statement<readonly [string]>;
  readonly #cancel: Statement<readonly []>;
  readonly #remove: Statement<readonly []>;
  /** There may be some: most gateways have none, and each event that ends would ask for them. */
  #hasPending: boolean;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
    this.#ask = connection.prepare(askApproval);
    this.#one = connection.prepare(oneApproval);
    this.#decide = connection.prepare(decideApproval);
    this.#toldOfCancel = connection.prepare(
      `SELECT on_cancel FROM approval WHERE seq = ? AND state = ${approvalStates.pending} AND on_cancel IS NOT NULL`,
    );
    this.#cancel = connection.prepare(
      `UPDATE approval SET state = ${approvalStates.cancelled}, decided = ?, on_cancel = NULL WHERE seq = ? AND state = ${approvalStates.pending}`,
    );
    this.#remove = connection.prepare('DELETE FROM approval WHERE seq = ?');
    this.#hasPending =
      connection
        .prepare<readonly [number]>(`SELECT 1 FROM approval WHERE state = ${approvalStates.pending} LIMIT 1`)
        .get([]) !== undefined;
  }

  ask(seq: number, asked: NewApproval, now: number): void {
    this.#hasPending = true;
    this.#ask.run(askedValues(seq, asked, now));
  }

  find(id: string): StoredApproval | undefined {
    const row = this.#one.get([storable(id)]);
    return row && approvalOf(row);
  }

  /** Gives whether it was the first decision. */
  decide(id: string, state: Decided, decision: string, now: number): boolean {
    return this.#decide.run([storable(id), approvalStates[state], now, storable(decision)]).changes > 0;
  }

  /** Its event needs none of them any more. Gives what is to be appended for that. */
  cancel(seq: number, now: number): readonly NewEvent[] {
    if (!this.#hasPending) return [];
    const told = this.#toldOfCancel.all([seq]);
    this.#cancel.run([now, seq]);
    return told.flatMap(([events]) => readEvents(events));
  }

  remove(seq: number): void {
    this.#remove.run([seq]);
  }

  list(filter: ApprovalFilter): readonly StoredApproval[] {
    const { states = [] } = filter;
    if (states.length === 0) return this.#listOf(filter);
    // Each state has its own part of an index, whatever there is of the others.
    const found = [...new Set(states)].flatMap((state) => this.#listOf({ ...filter, states: [state] }));
    return found.sort(newestFirst).slice(0, limitOfPart(filter));
  }

  #listOf(filter: ApprovalFilter): readonly StoredApproval[] {
    return this.#connection.list<ApprovalRow>(approvalsQuery(filter)).flatMap((row) => this.#listed(row));
  }

  /** A record that cannot be understood is left out: the others are worth their list. */
  #listed(row: ApprovalRow): readonly StoredApproval[] {
    try {
      return [approvalOf(row)];
    } catch (error) {
      if (!(error instanceof DamagedRecordError)) throw error;
      this.#connection.tellDamage(`the approval ${row[0]} is left out of lists: ${error.message}`);
      return [];
    }
  }
}

/** By the bytes of the id, as the file has them. */
function newestFirst(a: StoredApproval, b: StoredApproval): number {
  return b.askedAt - a.askedAt || Buffer.compare(Buffer.from(b.id), Buffer.from(a.id));
}
