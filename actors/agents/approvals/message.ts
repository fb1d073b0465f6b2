// Renders the approval request with two buttons, and the message that replaces it after the decision. A long
// request is truncated, and its total length is shown. The outcome has no buttons.

import { decisionActionId } from '../../events/decision-action.ts';
import type { OutboundMessage } from '../../events/outbox/message.ts';
import type { ApprovalState } from '../../store/approval.ts';
import type { ApprovalBody, DecisionBody } from './record.ts';
import { fullRequestText, markdownName } from './request-text.ts';

/**
 * Lengths of the excerpt, in characters. A shorter excerpt is tried if the platform would split the message.
 */
export const EXCERPTS = [1_500, 700, 300, 100] as const;
const MAX_COMMENT = 500;

type ApprovalContent = Pick<OutboundMessage, 'text' | 'card' | 'status' | 'mentions'>;
type RequestFields = Pick<
  ApprovalBody,
  'kind' | 'title' | 'command' | 'tool' | 'node' | 'requestedBy' | 'agent'
>;

export function requestMessage(
  id: string,
  request: RequestFields,
  excerpt: number,
  expiresInMs: number | undefined,
): ApprovalContent {
  const { card } = outline(request);
  return {
    text: [`Waiting for approval${expiryText(expiresInMs)}.`, requestBlock(id, request, excerpt)].join(
      '\n\n',
    ),
    status: 'warning',
    mentions: 'none',
    card: {
      ...card,
      actions: [
        { id: decisionActionId(id, 'approve'), title: 'Approve', style: 'primary' },
        { id: decisionActionId(id, 'deny'), title: 'Deny', style: 'danger' },
      ],
    },
  };
}

export interface DecisionOutcome {
  readonly state: Exclude<ApprovalState, 'pending'>;
  readonly decision?: DecisionBody | undefined;
  /** Decision time in epoch ms; undefined if unknown. */
  readonly at?: number | undefined;
  /** Reason why the approved action was not done. */
  readonly undone?: string | undefined;
}

export function outcomeMessage(
  id: string,
  request: RequestFields,
  excerpt: number,
  outcome: DecisionOutcome,
): ApprovalContent {
  const { card } = outline(request);
  const undone = outcome.undone === undefined ? [] : [`It was not done: ${markdownName(outcome.undone)}.`];
  return {
    text: [outcomeText(outcome), ...undone, requestBlock(id, request, excerpt)].join('\n\n'),
    status: outcome.state === 'approved' && undone.length === 0 ? 'success' : 'warning',
    mentions: 'none',
    card,
  };
}

const STATE_TEXTS = {
  approved: 'Approved',
  denied: 'Denied',
  expired: 'Expired: no decision in time',
  cancelled: 'Cancelled: no longer needed',
} as const;

/** Returns e.g. `Approved by ada at 2026-11-23 19:05:00 UTC: go ahead`. */
export function outcomeText({ state, decision, at }: DecisionOutcome): string {
  const name = decision?.name ?? decision?.by;
  const by = name === undefined ? '' : ` by ${markdownName(name)}`;
  const when = at === undefined ? '' : ` at ${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  const comment = markdownName(decision?.comment?.slice(0, MAX_COMMENT) ?? '');
  return `${STATE_TEXTS[state]}${by}${when}${comment === '' ? '.' : `: ${comment}`}`;
}

const nouns = { command: 'Command', tool: 'Tool', node: 'Step' } as const;

const titles = {
  command: 'Approval of a command',
  tool: 'Approval of a tool call',
  node: 'Approval of a step',
} as const;

function outline({ kind, title, requestedBy, agent }: RequestFields) {
  const by = requestedBy === undefined ? 'unknown' : requestedByText(requestedBy);
  const fields = [
    { name: 'Requested by', value: by },
    { name: nouns[kind], value: markdownName(title) },
    { name: kind === 'node' ? 'Flow' : 'Agent', value: markdownName(agent) },
  ];
  return {
    card: { title: titles[kind], fields },
  };
}

function requestedByText({ user, aliases }: NonNullable<ApprovalBody['requestedBy']>): string {
  const [alias] = aliases;
  return markdownName(alias === undefined ? user : `${alias} (${user})`);
}

function requestBlock(id: string, request: RequestFields, excerpt: number): string {
  const fullText = fullRequestText(request);
  const part = fullText.slice(0, excerpt).toWellFormed();
  const block = `\`\`\`\n${part}\n\`\`\``;
  if (part.length >= fullText.length) return block;
  return `${block}\n\nFirst ${part.length} of ${fullText.length} characters; full text: \`approvals show ${id}\``;
}

function expiryText(ms: number | undefined): string {
  if (ms === undefined) return '';
  const minutes = Math.max(1, Math.round(ms / 60_000));
  if (minutes < 120) return `, for ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `, for ${hours} hours` : `, for ${Math.round(hours / 24)} days`;
}
