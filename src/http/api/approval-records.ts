// The JSON of GET /approvals. Times are ISO 8601.

import type { Person } from '../../../actors/agents/approvals/approval-record.ts';
import type { ShownApproval } from '../../../actors/agents/approvals/operator-approvals.ts';

const iso = (epochMs: number | undefined) => (epochMs === undefined ? null : new Date(epochMs).toISOString());

/** One approval, with all that is to be approved. */
export function approvalRecord({ body, decision, ...approval }: ShownApproval) {
  const { kind, title, command, tool, node, digest, agent, requestedBy, rights } = body;
  return {
    id: approval.id,
    state: approval.state,
    run: approval.run,
    trigger: approval.trigger ?? null,
    agent,
    kind,
    title,
    command: command ?? null,
    tool: tool ?? null,
    node: node ?? null,
    digest,
    requested_by: requestedBy === undefined ? null : personRecord(requestedBy),
    approvers: rights.approvers,
    approval_channel: rights.channel ?? null,
    self_approval: rights.selfApproval,
    requested_at: iso(approval.askedAt),
    expires_at: iso(approval.expiresAt),
    decided_at: iso(approval.decidedAt),
    decided_by: decision?.by ?? null,
    decided_name: decision?.name ?? null,
    via: decision?.via ?? null,
    operator: decision?.operator ?? null,
    comment: decision?.comment ?? null,
  };
}

function personRecord({ platform, account, user, aliases }: Person) {
  return { platform, account: account ?? null, user, aliases };
}
