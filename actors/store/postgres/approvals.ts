// Approvals in PostgreSQL. An approval is pending from its commit until the first decision, or the event
// finishes or restarts.

import type { ApprovalFilter, NewApproval, NewDecision, StoredApproval } from '../approval.ts';
import {
  type ApprovalRow,
  approvalOf,
  approvalStates,
  approvalValues,
  decideApproval as decideText,
  oneApproval,
  openApproval as openText,
} from '../approval-row.ts';
import { approvalsQuery, postgresText } from '../list-queries.ts';
import { toStorableText } from '../record-texts.ts';
import { parseEvents } from '../serialized-events.ts';
import { statement, type Transaction } from './database.ts';

const { pending, cancelled } = approvalStates;

const openOne = statement(postgresText(openText));
const findOne = statement<ApprovalRow>(postgresText(oneApproval));
const decideOne = statement(postgresText(decideText));
const cancelEvents = statement<readonly [string | null]>(
  `SELECT on_cancel FROM approval WHERE seq = ANY ($1) AND state = ${pending} ORDER BY asked, id FOR UPDATE`,
);
const cancelAll = statement(
  `UPDATE approval SET state = ${cancelled}, decided = $2, on_cancel = NULL WHERE seq = ANY ($1) AND state = ${pending}`,
);

export async function addApproval(
  transaction: Transaction,
  seq: number,
  approval: NewApproval,
): Promise<void> {
  await transaction.run(openOne, approvalValues(seq, approval, transaction.now));
}

/** Cancels the pending approvals of events. The transaction appends their `onCancel` events. */
export async function cancelApprovals(transaction: Transaction, seqs: readonly number[]): Promise<void> {
  if (seqs.length === 0) return;
  const rows = await transaction.rows(cancelEvents, [seqs]);
  if (rows.length === 0) return;
  await transaction.run(cancelAll, [seqs, transaction.now]);
  for (const [events] of rows) if (events !== null) transaction.emitted.push(...parseEvents(events));
}

export async function findApproval(
  transaction: Transaction,
  id: string,
): Promise<StoredApproval | undefined> {
  const [row] = await transaction.rows(findOne, [toStorableText(id)]);
  return row && approvalOf(row, transaction.now);
}

/** Returns true if this was the first decision. The transaction appends the decision's events. */
export async function decideApproval(
  transaction: Transaction,
  id: string,
  { state, decision, emit }: NewDecision,
): Promise<boolean> {
  const values = [toStorableText(id), approvalStates[state], transaction.now, toStorableText(decision)];
  const isFirst = (await transaction.run(decideOne, values)) > 0;
  if (isFirst) transaction.emitted.push(...emit);
  return isFirst;
}

export async function listApprovals(
  transaction: Transaction,
  filter: ApprovalFilter,
): Promise<readonly StoredApproval[]> {
  const rows = await transaction.list<ApprovalRow>(approvalsQuery(filter));
  return rows.map((row) => approvalOf(row, transaction.now));
}
