// Approvals in the inspector: those that wait for somebody, those that were decided lately, and the decisions of an operator.
//
// APD1  nobody approves here what is not shown whole.

import { approvalFilter, askedDecision } from '../../../actors/agents/approvals/approval-query.ts';
import type {
  OperatorApprovals,
  ShownApproval,
} from '../../../actors/agents/approvals/operator-approvals.ts';
import { shownName, wholeRequest } from '../../../actors/agents/approvals/shown-request.ts';
import { ConflictError, InvalidQueryError } from '../../../actors/base/errors/errors.ts';
import type { Redactor } from '../../../actors/base/errors/redact.ts';
import type { Principal } from '../../../actors/identity/principal.ts';
import type { ApprovalState } from '../../../actors/store/approval.ts';
import type { ApprovalList, ApprovalRow } from '../wire/run-wire.ts';

/** Of those that wait, and as many that were decided. */
const MAX_SHOWN = 200;
const MAX_REQUEST = 20_000;
const MAX_COMMENT = 2_000;
const ended: readonly ApprovalState[] = ['approved', 'denied', 'expired', 'cancelled'];

export class ApprovalDesk {
  readonly #approvals: OperatorApprovals;
  readonly #redactor: Redactor;

  constructor(approvals: OperatorApprovals, redactor: Redactor) {
    this.#approvals = approvals;
    this.#redactor = redactor;
  }

  /** `run` and `limit`. Throws InvalidQueryError. */
  async list(query: string): Promise<ApprovalList> {
    const { run, limit: asked } = approvalFilter(query, ['run', 'limit']);
    const of = { limit: Math.min(asked, MAX_SHOWN), ...(run === undefined ? {} : { run }) };
    const [pending, decided] = await Promise.all([
      this.#approvals.list({ states: ['pending'], ...of }),
      this.#approvals.list({ states: ended, ...of }),
    ]);
    return {
      at: Date.now(),
      pending: pending.approvals.map(this.#row),
      decided: decided.approvals.map(this.#row),
      has_more: pending.before !== undefined || decided.before !== undefined,
    };
  }

  /** Rejects with NotFoundError, with ConflictError where it was decided before, with ForbiddenError and InvalidQueryError. */
  async decide(
    id: string,
    verb: 'approve' | 'deny',
    body: Buffer,
    principal: Principal,
  ): Promise<ApprovalRow> {
    const asked = askedDecision(parsed(body));
    if (verb === 'approve' && this.#row(await this.#approvals.find(id)).is_cut)
      throw new ConflictError('it is too long to be shown whole here, so it is not approved here');
    const decided = await this.#approvals.decide(id, verb, asked, principal, 'inspector');
    if ('error' in decided) throw decided.error;
    return this.#row(decided);
  }

  readonly #row = (approval: ShownApproval): ApprovalRow => {
    const { id, run, state, body, decision, askedAt, expiresAt, decidedAt } = approval;
    const request = wholeRequest(body);
    return {
      id,
      run,
      state,
      kind: body.kind,
      title: shownName(body.title),
      agent: shownName(body.agent),
      request: this.#redactor.excerpt(request, MAX_REQUEST),
      is_cut: request.length > MAX_REQUEST,
      requested_by: nameOf(body.requestedBy?.user),
      approvers: body.rights.approvers,
      channel: body.rights.channel ?? null,
      asked_at: askedAt,
      expires_at: expiresAt ?? null,
      decided_at: decidedAt ?? null,
      decided_by: nameOf(decision?.by),
      via: decision?.via ?? null,
      comment: decision?.comment === undefined ? null : this.#redactor.excerpt(decision.comment, MAX_COMMENT),
    };
  };
}

const nameOf = (text: string | undefined) => (text === undefined ? null : shownName(text));

function parsed(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    throw new InvalidQueryError('the body should be JSON: {"comment": "…"}');
  }
}
