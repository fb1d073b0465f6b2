// Routes below /approvals. A refused decision returns the current record.
//
// ART1  the inspector approves only requests that its brief view shows whole.

import {
  approvalFilter,
  askedDecision,
  nameOfPlace,
} from '../../../actors/agents/approvals/approval-query.ts';
import { ConflictError } from '../../../actors/base/errors/errors.ts';
import type { Verdict } from '../../../actors/events/decision-action.ts';
import { statusOf } from '../status.ts';
import { approvalRecord } from './approval-records.ts';
import type { ApprovalList, ApprovalRecord } from './approval-shapes.ts';
import { ANSWERED, get, post, type ShapedRoute } from './automation-route.ts';

const decide = (verdict: Verdict) =>
  post(async ({ approvals }, { context, id, body, view }) => {
    const { isFromInspector, principal } = context;
    const asked = askedDecision(body);
    if (isFromInspector && verdict === 'approve') {
      const { request } = approvalRecord(await approvals.find(id), view);
      if (request?.is_cut !== false)
        throw new ConflictError('it is too long to be shown whole here, so it is not approved here');
    }
    const via = isFromInspector ? 'inspector' : 'api';
    const decided = await approvals.decide(id, verdict, asked, principal, via);
    if (!('error' in decided)) return approvalRecord(decided, view);
    const { error, approval } = decided;
    context.error(statusOf(error), error.message, [], { approval: approvalRecord(approval, view) });
    return ANSWERED;
  });

export const approvalRoutes: readonly ShapedRoute[] = [
  [
    '/approvals',
    get(async ({ approvals }, { query, view }): Promise<ApprovalList> => {
      const page = await approvals.list(approvalFilter(query));
      const next = page.before && nameOfPlace(page.before);
      return {
        approvals: page.approvals.map((each) => approvalRecord(each, view)),
        next_before: next ?? null,
      };
    }),
  ],
  [
    '/approvals/*',
    get(
      async ({ approvals }, { id, view }): Promise<ApprovalRecord> =>
        approvalRecord(await approvals.find(id), view),
    ),
  ],
  ['/approvals/*/approve', decide('approve')],
  ['/approvals/*/deny', decide('deny')],
];
