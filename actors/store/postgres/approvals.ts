// Approvals in PostgreSQL: who was asked, and what was decided.
//
// One is pending from the commit that asks until the first decision, or until its event ends or begins anew (SQA1).

import type { ApprovalFilter, NewApproval, NewDecision, StoredApproval } from '../approval.ts';
import { type ApprovalRow, approvalColumns, approvalOf, approvalStates } from '../approval-row.ts';
import { limitOfPart } from '../list-parts.ts';
import { storable } from '../storable.ts';
import { readEvents, writtenEvents } from '../written-events.ts';
import { statement, type Transaction } from './database.ts';

const { pending, cancelled } = approvalStates;

const table = 'approval JOIN delivery ON delivery.seq = approval.seq';

const askOne = statement(
  `INSERT INTO approval (id, seq, state, asked, expires, body, on_cancel) VALUES ($1, $2, ${pending}, $3, $4, $5, $6)
   ON CONFLICT (id) DO UPDATE SET state = excluded.state, asked = excluded.asked, expires = excluded.expires,
     body = excluded.body, on_cancel = excluded.on_cancel, decided = NULL
     WHERE approval.state = ${cancelled} AND approval.seq = excluded.seq`,
);
const findOne = statement<ApprovalRow>(`SELECT ${approvalColumns} FROM ${table} WHERE approval.id = $1`);
const decideOne = statement(
  `UPDATE approval SET state = $2, decided = $3, decision = $4, on_cancel = NULL WHERE id = $1 AND state = ${pending}`,
);
const toldOfCancel = statement<readonly [string | null]>(
  `SELECT on_cancel FROM approval WHERE seq = ANY ($1) AND state = ${pending} ORDER BY asked, id FOR UPDATE`,
);
const cancelAll = statement(
  `UPDATE approval SET state = ${cancelled}, decided = $2, on_cancel = NULL WHERE seq = ANY ($1) AND state = ${pending}`,
);

export async function ask(transaction: Transaction, seq: number, asked: NewApproval): Promise<void> {
  const { id, body, expiresInMs, onCancel = [] } = asked;
  const { now } = transaction;
  const expires = expiresInMs === undefined ? null : now + Math.max(0, Math.ceil(expiresInMs));
  const told = onCancel.length === 0 ? null : storable(writtenEvents(onCancel));
  await transaction.run(askOne, [storable(id), seq, now, expires, storable(body), told]);
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
  { states = [], run, before, limit }: ApprovalFilter,
): Promise<readonly StoredApproval[]> {
  const parts = ['true'];
  const values: unknown[] = [];
  const given = (value: unknown) => `$${values.push(value)}`;
  if (states.length > 0)
    parts.push(
      `approval.state IN (${[...new Set(states)].map((state) => approvalStates[state]).join(', ')})`,
    );
  if (run !== undefined)
    parts.push(`approval.seq = (SELECT seq FROM delivery WHERE id = ${given(storable(run))})`);
  if (before !== undefined)
    parts.push(`(asked, approval.id) < (${given(before.askedAt)}, ${given(storable(before.id))})`);
  const most = limitOfPart({ limit });
  const rows = await transaction.ask<ApprovalRow>(
    `SELECT ${approvalColumns} FROM ${table} WHERE ${parts.join(' AND ')} ORDER BY asked DESC, approval.id DESC LIMIT ${most}`,
    values,
  );
  return rows.map(approvalOf);
}
