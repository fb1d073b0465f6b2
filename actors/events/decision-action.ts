// Ids of the two buttons below an approval request: approve and deny. A click returns the button id. The
// permission of the person is checked later (agents/approvals/decision-access.ts). Ids have up to 64 bytes,
// which every platform accepts.

import type { DecisionInbound } from './decision-inbound.ts';

export type DecisionVerdict = DecisionInbound['verdict'];

const PREFIX = 'approval/';

/** Returns the button id; `approval` is the id of the approval record, a UUID. */
export function decisionActionId(approval: string, verdict: DecisionVerdict): string {
  return `${PREFIX}${verdict}/${approval}`;
}

/** Parses a button id; undefined for other buttons. */
export function parseDecisionActionId(
  actionId: string,
): { readonly approval: string; readonly verdict: DecisionVerdict } | undefined {
  if (!actionId.startsWith(PREFIX)) return undefined;
  const [verdict, approval = '', ...more] = actionId.slice(PREFIX.length).split('/');
  if ((verdict !== 'approve' && verdict !== 'deny') || !ID.test(approval) || more.length > 0)
    return undefined;
  return { approval, verdict };
}

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
