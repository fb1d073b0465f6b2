// The message by which people are asked, with its two buttons; and what it is changed to once there is nothing to decide any more.
//
// AMS1  it shows the beginning of what is to be approved, and says how much of it that is; nobody takes a part for the whole.
// AMS2  whoever reads the outcome finds no buttons below it.

import { decisionActionId } from '../../events/decision-action.ts';
import type { OutboundMessage } from '../../events/outbox/outbound-message.ts';
import type { ApprovalState } from '../../store/approval.ts';
import type { ApprovalBody, DecisionBody } from './approval-record.ts';
import { namedInWords, shownName, wholeRequest } from './shown-request.ts';

/** Characters of what is to be approved; of less where the platform would make several messages of it. */
export const EXCERPTS = [1_500, 700, 300, 100] as const;
const MAX_COMMENT = 500;

type Words = Pick<OutboundMessage, 'text' | 'card' | 'status' | 'mentions'>;
type Asked = Pick<ApprovalBody, 'kind' | 'title' | 'command' | 'tool' | 'node' | 'requestedBy' | 'agent'>;

export function questionMessage(
  id: string,
  asked: Asked,
  excerpt: number,
  expiresInMs: number | undefined,
): Words {
  const { card } = outline(asked);
  return {
    text: [`It waits for approval${within(expiresInMs)}.`, shownRequest(id, asked, excerpt)].join('\n\n'),
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

export interface ShownOutcome {
  readonly state: Exclude<ApprovalState, 'pending'>;
  readonly decision?: DecisionBody | undefined;
  /** Epoch ms; undefined where nobody can say. */
  readonly at?: number | undefined;
  /** Why nothing came of it although it was approved. */
  readonly undone?: string | undefined;
}

export function outcomeMessage(id: string, asked: Asked, excerpt: number, outcome: ShownOutcome): Words {
  const { card } = outline(asked);
  const undone =
    outcome.undone === undefined ? [] : [`It was not done then: ${namedInWords(outcome.undone)}.`];
  return {
    text: [outcomeText(outcome), ...undone, shownRequest(id, asked, excerpt)].join('\n\n'),
    status: outcome.state === 'approved' && undone.length === 0 ? 'success' : 'warning',
    mentions: 'none',
    card,
  };
}

const WORDS = {
  approved: 'Approved',
  denied: 'Denied',
  expired: 'Expired: nobody has decided in time',
  cancelled: 'Cancelled: it is not needed any more',
} as const;

/** `Approved by ada at 2026-11-23 19:05:00 UTC: go ahead`. */
export function outcomeText({ state, decision, at }: ShownOutcome): string {
  const { by: user, name = user } = decision ?? {};
  const by = name === undefined ? '' : ` by ${namedInWords(name)}`;
  const when = at === undefined ? '' : ` at ${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  const comment = namedInWords(decision?.comment?.slice(0, MAX_COMMENT) ?? '');
  return `${WORDS[state]}${by}${when}${comment === '' ? '.' : `: ${comment}`}`;
}

const nouns = { command: 'Command', tool: 'Tool', node: 'Step' } as const;

const titles = {
  command: 'Approval of a command',
  tool: 'Approval of a tool call',
  node: 'Approval of a step',
} as const;

function outline({ kind, title, requestedBy, agent }: Asked) {
  const by = requestedBy === undefined ? 'nobody known' : requestedByText(requestedBy);
  const fields = [
    { name: 'Asked by', value: by },
    { name: nouns[kind], value: shownName(title) },
    { name: kind === 'node' ? 'Flow' : 'Agent', value: shownName(agent) },
  ];
  return {
    card: { title: titles[kind], fields },
  };
}

function requestedByText({ user, aliases }: NonNullable<ApprovalBody['requestedBy']>): string {
  const [alias] = aliases;
  return shownName(alias === undefined ? user : `${alias} (${user})`);
}

function shownRequest(id: string, asked: Asked, excerpt: number): string {
  const whole = wholeRequest(asked);
  const part = whole.slice(0, excerpt).toWellFormed();
  const block = `\`\`\`\n${part}\n\`\`\``;
  if (part.length >= whole.length) return block;
  return `${block}\n\nThese are the first ${part.length} of ${whole.length} characters; all of it: \`approvals show ${id}\``;
}

function within(ms: number | undefined): string {
  if (ms === undefined) return '';
  const minutes = Math.max(1, Math.round(ms / 60_000));
  if (minutes < 120) return `, for ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `, for ${hours} hours` : `, for ${Math.round(hours / 24)} days`;
}
