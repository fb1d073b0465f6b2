// The ids of the two buttons below a question whether something is approved. A click on one comes back with its id, which says nothing
// of whether whoever clicked may decide. An id has 64 bytes at most: every platform takes those.

import type { DecisionInbound } from './decision-inbound.ts';

export type Verdict = DecisionInbound['verdict'];

const BEGIN = 'approval/';

/** `approval` is the id of a record: a UUID. */
export function decisionActionId(approval: string, verdict: Verdict): string {
  return `${BEGIN}${verdict}/${approval}`;
}

/** Undefined for the id of any other button. */
export function decisionIn(
  actionId: string,
): { readonly approval: string; readonly verdict: Verdict } | undefined {
  if (!actionId.startsWith(BEGIN)) return undefined;
  const [verdict, approval = '', ...more] = actionId.slice(BEGIN.length).split('/');
  if ((verdict !== 'approve' && verdict !== 'deny') || !ID.test(approval) || more.length > 0)
    return undefined;
  return { approval, verdict };
}

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
