// Approvals in PostgreSQL: who was asked, and what was decided. The numbers of states stand in tables.
//
// One is pending from the commit that asks until the first decision, or until its event ends or begins anew (SQA1).

import type { ApprovalFilter, ApprovalState, NewApproval, NewDecision, StoredApproval } from '../approval.ts';
import { DamagedRecordError } from '../damaged-record.ts';
import { storable } from '../storable.ts';
import { readEvents, writtenEvents } from '../written-events.ts';
import { statement, type Transaction } from './database.ts';

const stateCodes = {
  pending: 0,
  approved: 1,
  denied: 2,
  expired: 3,
  cancelled: 4,
} as const satisfies Record<ApprovalState, number>;

const { pending, cancelled } = stateCodes;
const names = Object.keys(stateCodes) as readonly ApprovalState[];
const MAX_LISTED = 1_000;

const columns = `approval.id, delivery.id, delivery.key, delivery.trigger, approval.state, asked, expires, decided,
  approval.body, decision`;
const table = 'approval JOIN delivery ON delivery.seq = approval.seq';

type ApprovalRow = readonly [
  id: string,
  run: string,
  key: string,
  trigger: string | null,
  state: number,
  asked: number,
  expires: number | null,
  decided: number | null,
  body: string,
  decision: string | null,
];

const askOne = statement(
  `INSERT INTO approval (id, seq, state, asked, expires, body, on_cancel) VALUES ($1, $2, ${pending}, $3, $4, $5, $6)
   ON CONFLICT (id) DO UPDATE SET state = excluded.state, asked = excluded.asked, expires = excluded.expires,
     body = excluded.body, on_cancel = excluded.on_cancel, decided = NULL
     WHERE approval.state = ${cancelled} AND approval.seq = excluded.seq`,
);
const findOne = statement<ApprovalRow>(`SELECT ${columns} FROM ${table} WHERE approval.id = $1`);
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
  const values = [storable(id), stateCodes[state], transaction.now, storable(decision)];
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
    parts.push(`approval.state IN (${[...new Set(states)].map((state) => stateCodes[state]).join(', ')})`);
  if (run !== undefined)
    parts.push(`approval.seq = (SELECT seq FROM delivery WHERE id = ${given(storable(run))})`);
  if (before !== undefined)
    parts.push(`(asked, approval.id) < (${given(before.askedAt)}, ${given(storable(before.id))})`);
  const most = Math.max(1, Math.min(MAX_LISTED, Math.floor(limit)));
  const rows = await transaction.ask<ApprovalRow>(
    `SELECT ${columns} FROM ${table} WHERE ${parts.join(' AND ')} ORDER BY asked DESC, approval.id DESC LIMIT ${most}`,
    values,
  );
  return rows.map(approvalOf);
}

function approvalOf(row: ApprovalRow): StoredApproval {
  const [id, run, key, trigger, code, askedAt, expires, decided, body, decision] = row;
  const state = names.find((name) => stateCodes[name] === code);
  if (state === undefined) throw new DamagedRecordError('an approval has an unknown state');
  return {
    id,
    run,
    key,
    trigger: trigger ?? undefined,
    state,
    askedAt,
    expiresAt: expires ?? undefined,
    decidedAt: decided ?? undefined,
    body,
    decision: decision ?? undefined,
  };
}
