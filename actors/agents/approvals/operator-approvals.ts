// Approvals for operators, used by the API and the CLI. An operator may decide any approval; in the name of
// another person, that person's rights apply.

import { ConflictError, ForbiddenError, NotFoundError } from '../../base/errors/errors.ts';
import type { Redactor } from '../../base/errors/redact.ts';
import { redactJson } from '../../base/errors/redacted-json.ts';
import type { DecisionVerdict } from '../../events/decision-action.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { ApprovalFilter, ApprovalState, StoredApproval } from '../../store/approval.ts';
import { nextApprovals } from '../../store/list-parts.ts';
import type { Store } from '../../store/store.ts';
import type { Approvals } from './approvals.ts';
import { refusalForName } from './decision-access.ts';
import type { DecisionRequest } from './query.ts';
import { type ApprovalBody, bodyOf, type DecisionBody, decisionOf } from './record.ts';

/** Redacted view for operators. */
export interface ApprovalView
  extends Pick<StoredApproval, 'id' | 'run' | 'trigger' | 'askedAt' | 'expiresAt' | 'decidedAt'> {
  readonly state: ApprovalState;
  readonly body: ApprovalBody;
  readonly decision: DecisionBody | undefined;
}

export interface ApprovalPage {
  readonly approvals: readonly ApprovalView[];
  /** `before` of the next page; undefined for the last page. */
  readonly before: ApprovalFilter['before'];
}

/** Rejection reason and approval state. */
export interface RefusedDecision {
  readonly error: ForbiddenError | ConflictError;
  readonly approval: ApprovalView;
}

export interface OperatorApprovalsHost {
  readonly store: Pick<Store, 'approvals'>;
  readonly approvals: Approvals;
  readonly gateway: { readonly redactor: Redactor };
}

export class OperatorApprovals {
  readonly #host: OperatorApprovalsHost;

  constructor(host: OperatorApprovalsHost) {
    this.#host = host;
  }

  /**
   * Returns the newest approvals first, at least one per page and as many as fit. An overdue approval is
   * pending until its run expires it.
   */
  async list(filter: ApprovalFilter): Promise<ApprovalPage> {
    const stored = await this.#host.store.approvals(filter);
    return { approvals: stored.map((each) => this.#viewOf(each)), before: nextApprovals(stored, filter) };
  }

  /** Rejects with NotFoundError. */
  async find(id: string): Promise<ApprovalView> {
    return this.#viewOf(await this.#stored(id));
  }

  /** Rejects with NotFoundError. `via` is the program of the operator. */
  async decide(
    id: string,
    verdict: DecisionVerdict,
    { by, comment }: DecisionRequest,
    principal: Principal,
    via: 'api' | 'inspector' = 'api',
  ): Promise<ApprovalView | RefusedDecision> {
    const { approvals } = this.#host;
    const stored = await this.#stored(id);
    if (stored.state !== 'pending') return this.#lateDecision(stored);
    const refusal = by === undefined ? undefined : refusalForName(bodyOf(stored), by);
    if (refusal !== undefined)
      return {
        error: new ForbiddenError(`${by} may not decide: ${refusal}`),
        approval: this.#viewOf(stored),
      };
    const operator = principalText(principal);
    const decision: DecisionBody = {
      by: by ?? (principal.kind === 'token' ? operator : 'an operator'),
      via,
      comment,
      operator,
    };
    const decided = await approvals.decide(stored, verdict === 'approve' ? 'approved' : 'denied', decision);
    return decided.isFirst ? this.#viewOf(decided.approval) : this.#lateDecision(decided.approval);
  }

  #lateDecision(stored: StoredApproval): RefusedDecision {
    const error = new ConflictError(`the approval is ${stored.state}; the first decision counts`);
    return { error, approval: this.#viewOf(stored) };
  }

  async #stored(id: string): Promise<StoredApproval> {
    const approval = await this.#host.approvals.find(id);
    if (approval !== undefined) return approval;
    throw new NotFoundError(
      `there is no approval ${JSON.stringify(id.slice(0, 200))}; GET /approvals lists the approvals of stored runs`,
    );
  }

  /** Redacts the texts of tools and people. */
  #viewOf(stored: StoredApproval): ApprovalView {
    const { redactor } = this.#host.gateway;
    const redacted = <T>(value: T) => redactJson(value, (text) => redactor.redact(text));
    const { id, run, trigger, state, askedAt, expiresAt, decidedAt } = stored;
    const body = redacted(bodyOf(stored));
    const storedDecision = decisionOf(stored);
    const decision = storedDecision && redacted(storedDecision);
    return { id, run, trigger, state, askedAt, expiresAt, decidedAt, body, decision };
  }
}
