// A row of the table of approvals with what is read of its delivery, the same in both engines, and the approval that is made of it.
// The numbers of states stand in files and tables: never change one, only add.

import type { ApprovalState, StoredApproval } from './approval.ts';
import { DamagedRecordError } from './damaged-record.ts';

export const approvalStates = {
  pending: 0,
  approved: 1,
  denied: 2,
  expired: 3,
  cancelled: 4,
} as const satisfies Record<ApprovalState, number>;

const names = Object.keys(approvalStates) as readonly ApprovalState[];

/** Of `approval JOIN delivery`. */
export const approvalColumns = `approval.id, delivery.id, delivery.key, delivery.trigger, approval.state, asked, expires, decided,
  approval.body, decision`;

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

/** Throws DamagedRecordError. */
export function approvalOf(row: ApprovalRow): StoredApproval {
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
    decidedAt: decided ?? undefined,
    body,
    decision: decision ?? undefined,
  };
}
