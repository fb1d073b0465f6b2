// Output of `approvals`: the list, an approval with its request, and decisions.

import { escapeHidden, escapeHiddenLine } from '../../../actors/base/errors/hidden-characters.ts';
import type { ApprovalList, ApprovalRecord } from '../../http/api/approval-shapes.ts';
import type { Paint, Style } from '../../terminal/paint.ts';
import { jsonForTerminal } from '../../terminal/terminal-text.ts';
import { localTime, optionalTime } from './local-time.ts';
import { type Column, table } from './table.ts';

const styles: Readonly<Record<ApprovalRecord['state'], Style>> = {
  pending: 'busy',
  approved: 'good',
  denied: 'bad',
  expired: 'faint',
  cancelled: 'faint',
};

export function approvalTable(
  { approvals, next_before }: ApprovalList,
  paint: Paint,
  width?: number,
): string[] {
  const more = next_before === null ? [] : [paint('faint', `more: --before ${next_before}`)];
  if (approvals.length === 0) return ['no approvals', ...more];
  const columns: Column<ApprovalRecord>[] = [
    { title: 'REQUESTED', text: ({ requested_at }) => localTime(requested_at) },
    { title: 'STATE', text: ({ state }) => state, paint: ({ state }, text) => paint(styles[state], text) },
    { title: 'KIND', text: ({ kind }) => kind },
    { title: 'BY', text: ({ requested_by }) => escapeHiddenLine(requested_by?.user ?? '-') },
    { title: 'DECIDED BY', text: decidedBy },
    { title: 'ID', text: ({ id }) => id },
    { title: 'TITLE', text: ({ title }) => escapeHiddenLine(title) },
  ];
  return [...table(columns, approvals, width), ...more];
}

export function approvalLine({ id, state }: Pick<ApprovalRecord, 'id' | 'state'>): string {
  return `${escapeHiddenLine(id)} is ${state}`;
}

export function approvalPage(approval: ApprovalRecord, paint: Paint): string[] {
  const { requested_by: requester, node, comment } = approval;
  const entries: readonly (readonly [string, string | null])[] = [
    ['approval', approval.id],
    ['state', paint(styles[approval.state], approval.state)],
    [approval.kind, escapeHiddenLine(approval.title)],
    [node === null ? 'agent' : 'flow', escapeHiddenLine(approval.agent)],
    ['step', node === null ? null : escapeHiddenLine(node.id)],
    ['run', escapeHiddenLine(approval.run)],
    [
      'requested by',
      requester === null ? '-' : escapeHiddenLine([requester.user, ...requester.aliases].join(', ')),
    ],
    ['requested', localTime(approval.requested_at)],
    ['expires', optionalTime(approval.expires_at, 'never')],
    [
      'approvers',
      escapeHiddenLine(approval.approvers.join(', ') || approval.approval_channel || 'operators'),
    ],
    ['decided', approval.decided_at && localTime(approval.decided_at)],
    ['decided by', approval.decided_by === null ? null : escapeHiddenLine(decidedBy(approval))],
    ['comment', comment === null ? null : escapeHiddenLine(comment)],
    ['digest', approval.digest],
  ];
  const lines = entries.flatMap(([name, text]) => (text === null ? [] : [`${name.padEnd(12)}  ${text}`]));
  return [...lines, '', ...wholeRequest(approval)];
}

/** Returns the lines with the request: the message, the command or the arguments of the tool. */
function wholeRequest({ command, tool, node }: ApprovalRecord): readonly string[] {
  if (node !== null) return ['message', escapeHidden(node.message)];
  const requestJson = JSON.stringify(tool === null ? command : tool.arguments, null, 2) ?? 'null';
  return [tool === null ? 'command' : 'arguments', jsonForTerminal(requestJson)];
}

function decidedBy({ decided_by, decided_name, via }: ApprovalRecord): string {
  if (decided_by === null) return '-';
  const name = decided_name === null ? decided_by : `${decided_name} (${decided_by})`;
  return via === null ? name : `${name}, ${via}`;
}
