// Routes below /approvals. If a decision fails, for example because another decision was first, the response
// contains the current record. The inspector can approve only requests that its brief view shows completely.

import { approvalFilter, pageToken, parseDecision } from '../../../actors/agents/approvals/query.ts';
import { ConflictError } from '../../../actors/base/errors/errors.ts';
import type { DecisionVerdict } from '../../../actors/events/decision-action.ts';
import { statusOf } from '../status.ts';
import { approvalRecord } from './approval-records.ts';
import type { ApprovalList, ApprovalRecord } from './approval-shapes.ts';
import { getRoute, postRoute, RESPONDED, type ShapedRoute } from './automation-route.ts';

const decide = (verdict: DecisionVerdict) =>
  postRoute(async ({ approvals }, { context, id, body, view }) => {
    const { isFromInspector, principal } = context;
    const decision = parseDecision(body);
    if (isFromInspector && verdict === 'approve') {
      const { request } = approvalRecord(await approvals.find(id), view);
      if (request?.is_cut !== false)
        throw new ConflictError(
          'the request is too long to be shown completely, so it cannot be approved here',
        );
    }
    const via = isFromInspector ? 'inspector' : 'api';
    const result = await approvals.decide(id, verdict, decision, principal, via);
    if (!('error' in result)) return approvalRecord(result, view);
    const { error, approval } = result;
    context.error(statusOf(error), error.message, [], { approval: approvalRecord(approval, view) });
    return RESPONDED;
  });

const routes: readonly ShapedRoute[] = [
  [
    '/approvals',
    getRoute(async ({ approvals }, { query, view }): Promise<ApprovalList> => {
      const page = await approvals.list(approvalFilter(query));
      const next = page.before && pageToken(page.before);
      return {
        approvals: page.approvals.map((each) => approvalRecord(each, view)),
        next_before: next ?? null,
      };
    }),
  ],
  [
    '/approvals/*',
    getRoute(
      async ({ approvals }, { id, view }): Promise<ApprovalRecord> =>
        approvalRecord(await approvals.find(id), view),
    ),
  ],
  ['/approvals/*/approve', decide('approve')],
  ['/approvals/*/deny', decide('deny')],
];

export const approvalRoutes: readonly ShapedRoute[] = routes.map(([shape, route]) => [
  shape,
  { ...route, escapesHidden: true },
]);
