// Rows and statements of the approval table, shared by SQLite and PostgreSQL. The statements have the
// parameters of SQLite (`?1`), which `postgresText` converts. State numbers are stored on disk: add new
// numbers, never change existing numbers.

import type { ApprovalState, NewApproval, StoredApproval } from './approval.ts';
import { DamagedRecordError } from './damaged-record.ts';
import { toStorableText } from './record-texts.ts';
import { serializeEvents } from './serialized-events.ts';

export const approvalStates = {
  pending: 0,
  approved: 1,
  denied: 2,
  expired: 3,
  cancelled: 4,
} as const satisfies Record<ApprovalState, number>;

const names = Object.keys(approvalStates) as readonly ApprovalState[];

const { pending, cancelled } = approvalStates;

/** Columns of `approval JOIN delivery`. The delivery is the run that waits for the approval. */
export const approvalColumns = `approval.id, delivery.id, delivery.key, delivery.trigger, approval.state, asked, expires, decided,
  approval.body, decision`;

export const oneApproval = `SELECT ${approvalColumns} FROM approval JOIN delivery ON delivery.seq = approval.seq WHERE approval.id = ?1`;

/** Inserts an approval, or reopens a cancelled one. */
export const openApproval = `INSERT INTO approval (id, seq, state, asked, expires, body, on_cancel)
  VALUES (?1, ?2, ${pending}, ?3, ?4, ?5, ?6)
  ON CONFLICT (id) DO UPDATE SET state = excluded.state, asked = excluded.asked, expires = excluded.expires,
    body = excluded.body, on_cancel = excluded.on_cancel, decided = NULL
    WHERE approval.state = ${cancelled} AND approval.seq = excluded.seq`;

export const decideApproval = `UPDATE approval SET state = ?2, decided = ?3, decision = ?4, on_cancel = NULL
  WHERE id = ?1 AND state = ${pending}`;

/** Returns the values of `openApproval`. */
export function approvalValues(seq: number, approval: NewApproval, now: number) {
  const { id, body, expiresInMs, onCancel = [] } = approval;
  const expires = expiresInMs === undefined ? null : now + Math.max(0, Math.ceil(expiresInMs));
  const cancelEvents = onCancel.length === 0 ? null : toStorableText(serializeEvents(onCancel));
  return [toStorableText(id), seq, now, expires, toStorableText(body), cancelEvents];
}

export type ApprovalRow = readonly [
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

/** `now`: epoch milliseconds of the engine. Throws DamagedRecordError. */
export function approvalOf(row: ApprovalRow, now: number): StoredApproval {
  const [id, run, key, trigger, code, askedAt, expires, decided, body, decision] = row;
  const state = names.find((name) => approvalStates[name] === code);
  if (state === undefined) throw new DamagedRecordError('an approval has an unknown state');
  return {
    id,
    run,
    key,
    trigger: trigger ?? undefined,
    state,
    askedAt,
    expiresAt: expires ?? undefined,
    expiresInMs: expires === null ? undefined : expires - now,
    decidedAt: decided ?? undefined,
    body,
    decision: decision ?? undefined,
  };
}
