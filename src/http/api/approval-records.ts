// Creates the records of approval-shapes.ts. The input is already redacted. The brief view is for people, so
// its texts show hidden characters as escapes.

import type { ApprovalView } from '../../../actors/agents/approvals/operator-approvals.ts';
import type { ApprovalBody, Person } from '../../../actors/agents/approvals/record.ts';
import { displayName, fullRequestText } from '../../../actors/agents/approvals/request-text.ts';
import { escapeHidden } from '../../../actors/base/errors/hidden-characters.ts';
import type { ApprovalRecord } from './approval-shapes.ts';
import { isoTime } from './iso-time.ts';
import type { RecordView } from './record-view.ts';

/** Maximum request length in the brief view (record-view.ts). */
const MAX_REQUEST = 20_000;
const MAX_COMMENT = 2_000;

/** Returns the record for `/approvals/:id` and for the list. */
export function approvalRecord(
  { body, decision, ...approval }: ApprovalView,
  view: RecordView,
): ApprovalRecord {
  const { kind, title, command, tool, node, digest, agent, requestedBy, rights } = body;
  const name = view.isBrief ? displayName : (text: string) => text;
  return {
    id: approval.id,
    state: approval.state,
    run: approval.run,
    trigger: approval.trigger ?? null,
    agent: name(agent),
    kind,
    title: name(title),
    ...(view.isBrief
      ? { command: null, tool: null, node: null, request: briefRequest(body, view) }
      : { command: command ?? null, tool: tool ?? null, node: node ?? null }),
    digest,
    requested_by: requestedBy === undefined ? null : personRecord(requestedBy, name),
    approvers: rights.approvers,
    approval_channel: rights.channel ?? null,
    self_approval: rights.selfApproval,
    requested_at: isoTime(approval.askedAt),
    expires_at: isoTime(approval.expiresAt),
    decided_at: isoTime(approval.decidedAt),
    decided_by: decision?.by === undefined ? null : name(decision.by),
    decided_name: decision?.name === undefined ? null : name(decision.name),
    via: decision?.via ?? null,
    operator: decision?.operator ?? null,
    comment: view.text(commentText(decision?.comment, view), MAX_COMMENT),
  };
}

const commentText = (comment: string | undefined, { isBrief }: RecordView) =>
  isBrief && comment !== undefined ? escapeHidden(comment) : comment;

function briefRequest(body: ApprovalBody, view: RecordView): NonNullable<ApprovalRecord['request']> {
  const text = fullRequestText(body);
  return { text: view.text(text, MAX_REQUEST), is_cut: text.length > MAX_REQUEST };
}

function personRecord({ platform, account, user, aliases }: Person, name: (text: string) => string) {
  return { platform, account: account ?? null, user: name(user), aliases: aliases.map(name) };
}
