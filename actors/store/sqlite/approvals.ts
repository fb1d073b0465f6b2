// Approvals in SQLite. An approval is pending from its commit until the first decision. If its event finishes
// or is requeued while it is pending, it is cancelled. An attempt that requests it again, with the same id,
// makes it pending again.

import type { ApprovalFilter, DecisionState, NewApproval, StoredApproval } from '../approval.ts';
import {
  type ApprovalRow,
  approvalOf,
  approvalStates,
  approvalValues,
  decideApproval,
  oneApproval,
  openApproval,
} from '../approval-row.ts';
import { DamagedRecordError } from '../damaged-record.ts';
import type { NewEvent } from '../event.ts';
import { approvalPage } from '../list-parts.ts';
import { approvalsQuery } from '../list-queries.ts';
import { toStorableText } from '../record-texts.ts';
import { parseEvents } from '../serialized-events.ts';
import type { SqliteConnection, SqliteStatement } from './connection.ts';

export class SqliteApprovals {
  readonly #connection: SqliteConnection;
  readonly #open: SqliteStatement<readonly []>;
  readonly #one: SqliteStatement<ApprovalRow>;
  readonly #decide: SqliteStatement<readonly []>;
  readonly #cancelEvents: SqliteStatement<readonly [string]>;
  readonly #cancel: SqliteStatement<readonly []>;
  readonly #remove: SqliteStatement<readonly []>;
  /**
   * False if there are certainly no pending approvals. Most gateways have none, and every finished event
   * would query for them.
   */
  #hasPending: boolean;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
    this.#open = connection.prepare(openApproval);
    this.#one = connection.prepare(oneApproval);
    this.#decide = connection.prepare(decideApproval);
    this.#cancelEvents = connection.prepare(
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

  /** Inserts a pending approval, or reopens a cancelled one with the same id. */
  open(seq: number, approval: NewApproval, now: number): void {
    this.#hasPending = true;
    this.#open.run(approvalValues(seq, approval, now));
  }

  find(id: string, now: number): StoredApproval | undefined {
    const row = this.#one.get([toStorableText(id)]);
    return row && approvalOf(row, now);
  }

  /** Returns true if this was the first decision. */
  decide(id: string, state: DecisionState, decision: string, now: number): boolean {
    return (
      this.#decide.run([toStorableText(id), approvalStates[state], now, toStorableText(decision)]).changes > 0
    );
  }

  /** Cancels the pending approvals of an event. Returns the events to append for them. */
  cancel(seq: number, now: number): readonly NewEvent[] {
    if (!this.#hasPending) return [];
    const rows = this.#cancelEvents.all([seq]);
    this.#cancel.run([now, seq]);
    return rows.flatMap(([events]) => parseEvents(events));
  }

  remove(seq: number): void {
    this.#remove.run([seq]);
  }

  list(filter: ApprovalFilter, now: number): readonly StoredApproval[] {
    const { states = [] } = filter;
    if (states.length === 0) return this.#listOf(filter, now);
    // One query per state, because each state has a separate index range.
    const found = [...new Set(states)].flatMap((state) => this.#listOf({ ...filter, states: [state] }, now));
    return approvalPage(found.sort(newestFirst), filter);
  }

  #listOf(filter: ApprovalFilter, now: number): readonly StoredApproval[] {
    const rows = this.#connection.list<ApprovalRow>(approvalsQuery(filter));
    return rows.flatMap((row) => this.#readable(row, now));
  }

  /** Skips a damaged record, to list the rest. */
  #readable(row: ApprovalRow, now: number): readonly StoredApproval[] {
    try {
      return [approvalOf(row, now)];
    } catch (error) {
      if (!(error instanceof DamagedRecordError)) throw error;
      this.#connection.reportDamage(`approval ${row[0]} is not listed: ${error.message}`);
      return [];
    }
  }
}

/** Compares ids by their bytes, like the database. */
function newestFirst(a: StoredApproval, b: StoredApproval): number {
  return b.askedAt - a.askedAt || Buffer.compare(Buffer.from(b.id), Buffer.from(a.id));
}
