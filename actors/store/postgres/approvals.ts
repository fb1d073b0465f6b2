// Approvals in PostgreSQL: who was asked, and what was decided.
//
// One is pending from the commit that asks until the first decision, or until its event ends or begins anew (SQA1).

import type { ApprovalFilter, NewApproval, NewDecision, StoredApproval } from '../approval.ts';
import {
  type ApprovalRow,
  approvalOf,
  approvalStates,
  askApproval,
  askedValues,
  decideApproval as decideText,
  oneApproval,
} from '../approval-row.ts';
import { approvalsQuery, postgresText } from '../list-queries.ts';
import { storable } from '../record-texts.ts';
import { readEvents } from '../written-events.ts';
import { statement, type Transaction } from './database.ts';

const { pending, cancelled } = approvalStates;

const askOne = statement(postgresText(askApproval));
const findOne = statement<ApprovalRow>(postgresText(oneApproval));
const decideOne = statement(postgresText(decideText));
const toldOfCancel = statement<readonly [string | null]>(
  `SELECT on_cancel FROM approval WHERE seq = ANY ($1) AND state = ${pending} ORDER BY asked, id FOR UPDATE`,
);
const cancelAll = statement(
  `UPDATE approval SET state = ${cancelled}, decided = $2, on_cancel = NULL WHERE seq = ANY ($1) AND state = ${pending}`,
);

export async function ask(transaction: Transaction, seq: number, asked: NewApproval): Promise<void> {
  await transaction.run(askOne, askedValues(seq, asked, transaction.now));
}

/** Their events need none of them any more; what is to happen then is appended before the transaction ends. */
export async function cancelAsked(transaction: Transaction, seqs: readonly number[]): Promise<void> {
  if (seqs.length === 0) return;
  const told = await transaction.rows(toldOfCancel, [seqs]);
  if (told.length === 0) return;
  await transaction.run(cancelAll, [seqs, transaction.now]);
  for (const [events] of told) if (events !== null) transaction.emitted.push(...readEvents(events));
}

export async function findApproval(
  transaction: Transaction,
  id: string,
): Promise<StoredApproval | undefined> {
  const [row] = await transaction.rows(findOne, [storable(id)]);
  return row && approvalOf(row);
}

/** Gives whether it was the first decision; then what it brings about is appended before the transaction ends. */
export async function decideApproval(
  transaction: Transaction,
  id: string,
  { state, decision, emit }: NewDecision,
): Promise<boolean> {
  const values = [storable(id), approvalStates[state], transaction.now, storable(decision)];
  const isFirst = (await transaction.run(decideOne, values)) > 0;
  if (isFirst) transaction.emitted.push(...emit);
  return isFirst;
}

export async function listApprovals(
  transaction: Transaction,
  filter: ApprovalFilter,
): Promise<readonly StoredApproval[]> {
  const rows = await transaction.list<ApprovalRow>(approvalsQuery(filter));
  return rows.map(approvalOf);
}
