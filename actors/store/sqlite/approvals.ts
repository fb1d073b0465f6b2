// Approvals in the file: who was asked, and what was decided. The numbers of states stand in files on disk.
//
// SQA1  one is pending from the commit that asks until the first decision, or until its event ends or begins anew. Of those that
//       a run that goes on had asked before its end it asks again: they are pending once more.

import type { ApprovalFilter, ApprovalState, Decided, NewApproval, StoredApproval } from '../approval.ts';
import { type ApprovalRow, approvalColumns, approvalOf, approvalStates } from '../approval-row.ts';
import { DamagedRecordError } from '../damaged-record.ts';
import type { NewEvent } from '../event.ts';
import { limitOfPart } from '../list-parts.ts';
import { storable } from '../storable.ts';
import { readEvents, writtenEvents } from '../written-events.ts';
import type { SqliteConnection, SqlValue, Statement } from './connection.ts';

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
    this.#ask = connection.prepare(
      `INSERT INTO approval (id, seq, state, asked, expires, body, on_cancel)
       VALUES (?, ?, ${approvalStates.pending}, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET state = excluded.state, asked = excluded.asked, expires = excluded.expires,
         body = excluded.body, on_cancel = excluded.on_cancel, decided = NULL
         WHERE approval.state = ${approvalStates.cancelled} AND approval.seq = excluded.seq`,
    );
    this.#one = connection.prepare(
      `SELECT ${approvalColumns} FROM approval JOIN delivery ON delivery.seq = approval.seq WHERE approval.id = ?`,
    );
    this.#decide = connection.prepare(
      `UPDATE approval SET state = ?, decided = ?, decision = ?, on_cancel = NULL WHERE id = ? AND state = ${approvalStates.pending}`,
    );
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

  ask(seq: number, { id, body, expiresInMs, onCancel = [] }: NewApproval, now: number): void {
    const expires = expiresInMs === undefined ? null : now + Math.max(0, Math.ceil(expiresInMs));
    this.#hasPending = true;
    const told = onCancel.length === 0 ? null : storable(writtenEvents(onCancel));
    this.#ask.run([storable(id), seq, now, expires, storable(body), told]);
  }

  find(id: string): StoredApproval | undefined {
    const row = this.#one.get([storable(id)]);
    return row && approvalOf(row);
  }

  /** Gives whether it was the first decision. */
  decide(id: string, state: Decided, decision: string, now: number): boolean {
    return this.#decide.run([approvalStates[state], now, storable(decision), storable(id)]).changes > 0;
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

  list({ states = [], ...filter }: ApprovalFilter): readonly StoredApproval[] {
    if (states.length === 0) return this.#listOf(undefined, filter);
    // Each state has its own part of an index, whatever there is of the others.
    const found = [...new Set(states)].flatMap((state) => this.#listOf(state, filter));
    return found.sort(newestFirst).slice(0, limitOfPart(filter));
  }

  #listOf(
    state: ApprovalState | undefined,
    { run, before, limit }: Omit<ApprovalFilter, 'states'>,
  ): readonly StoredApproval[] {
    const parts = ['true'];
    const values: SqlValue[] = [];
    if (state !== undefined) parts.push(`approval.state = ${approvalStates[state]}`);
    if (run !== undefined) {
      parts.push('approval.seq = (SELECT seq FROM delivery WHERE id = ?)');
      values.push(storable(run));
    }
    if (before !== undefined) {
      parts.push('(asked, approval.id) < (?, ?)');
      values.push(before.askedAt, storable(before.id));
    }
    const most = limitOfPart({ limit });
    const index =
      run !== undefined ? 'approval_seq' : state === undefined ? 'approval_asked' : 'approval_state';
    return this.#connection
      .prepare<ApprovalRow>(
        `SELECT ${approvalColumns} FROM approval INDEXED BY ${index} CROSS JOIN delivery ON delivery.seq = approval.seq
         WHERE ${parts.join(' AND ')}
         ORDER BY asked DESC, approval.id DESC LIMIT ${most}`,
      )
      .all(values)
      .flatMap((row) => this.#listed(row));
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
