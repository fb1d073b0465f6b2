// The routes of approvals: /approvals. A decision that is not taken is answered with how the approval stands.

import {
  approvalFilter,
  askedDecision,
  nameOfPlace,
} from '../../../actors/agents/approvals/approval-query.ts';
import type { Verdict } from '../../../actors/events/decision-action.ts';
import { statusOf } from '../status.ts';
import { approvalRecord } from './approval-records.ts';
import { ANSWERED, type AutomationRoute } from './automation-route.ts';

const decide = (verdict: Verdict): AutomationRoute => ({
  method: 'POST',
  status: 200,
  answer: async ({ approvals }, context, id, body) => {
    const decided = await approvals.decide(id, verdict, askedDecision(body), context.principal);
    if (!('error' in decided)) return approvalRecord(decided);
    const { error, approval } = decided;
    context.error(statusOf(error), error.message, [], { approval: approvalRecord(approval) });
    return ANSWERED;
  },
});

export const approvalRoutes: readonly (readonly [shape: string, route: AutomationRoute])[] = [
  [
    '/approvals',
    {
      method: 'GET',
      status: 200,
      answer: async ({ approvals }, { request }) => {
        const page = await approvals.list(approvalFilter(request.query));
        const next = page.before && nameOfPlace(page.before);
        return { approvals: page.approvals.map(approvalRecord), next_before: next ?? null };
      },
    },
  ],
  [
    '/approvals/*',
    {
      method: 'GET',
      status: 200,
      answer: async ({ approvals }, _, id) => approvalRecord(await approvals.find(id)),
    },
  ],
  ['/approvals/*/approve', decide('approve')],
  ['/approvals/*/deny', decide('deny')],
];
