// Approvals for an operator: the API and the commands go through here. Whoever has the key may decide about any; in the name of
// somebody else they have that one's rights.

import { ConflictError, ForbiddenError, NotFoundError } from '../../base/errors/errors.ts';
import type { Redactor } from '../../base/errors/redact.ts';
import { redactedJson } from '../../base/errors/redacted-json.ts';
import type { Verdict } from '../../events/decision-action.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { ApprovalFilter, ApprovalState, StoredApproval } from '../../store/approval.ts';
import type { Store } from '../../store/store.ts';
import type { AskedDecision } from './approval-query.ts';
import { type ApprovalBody, bodyOf, type DecisionBody, decisionOf } from './approval-record.ts';
import type { Approvals } from './approvals.ts';
import { refusalOfNamed } from './who-may-decide.ts';

/** As operators see it: without secrets. */
export interface ShownApproval
  extends Pick<StoredApproval, 'id' | 'run' | 'trigger' | 'askedAt' | 'expiresAt' | 'decidedAt'> {
  readonly state: ApprovalState;
  readonly body: ApprovalBody;
  readonly decision: DecisionBody | undefined;
}

export interface ApprovalPage {
  readonly approvals: readonly ShownApproval[];
  /** Where to go on, as the `before` of the next one; undefined at the end. */
  readonly before: ApprovalFilter['before'];
}

/** Why a decision was not taken, and how the approval stands. */
export interface RefusedDecision {
  readonly error: ForbiddenError | ConflictError;
  readonly approval: ShownApproval;
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

  /** The newest first. What has expired since it was last looked at may stand in a list of those that are pending. */
  async list(filter: ApprovalFilter): Promise<ApprovalPage> {
    const { store, approvals } = this.#host;
    const found = await store.approvals(filter);
    const shown = found.map(async (each) => this.#shown(await approvals.inTime(each)));
    const last = found.length < filter.limit ? undefined : found.at(-1);
    const before = last && { askedAt: last.askedAt, id: last.id };
    return { approvals: await Promise.all(shown), before };
  }

  /** Rejects with NotFoundError. */
  async find(id: string): Promise<ShownApproval> {
    return this.#shown(await this.#stored(id));
  }

  /** Rejects with NotFoundError. `via` is where the operator does it. */
  async decide(
    id: string,
    verdict: Verdict,
    { by, comment }: AskedDecision,
    principal: Principal,
    via: 'api' | 'inspector' = 'api',
  ): Promise<ShownApproval | RefusedDecision> {
    const { approvals } = this.#host;
    const found = await this.#stored(id);
    if (found.state !== 'pending') return this.#tooLate(found);
    const refusal = by === undefined ? undefined : refusalOfNamed(bodyOf(found), by);
    if (refusal !== undefined)
      return { error: new ForbiddenError(`${by} may not decide: ${refusal}`), approval: this.#shown(found) };
    const operator = principalText(principal);
    const decision: DecisionBody = {
      by: by ?? (principal.kind === 'token' ? operator : 'an operator'),
      via,
      comment,
      operator,
    };
    const decided = await approvals.decide(found, verdict === 'approve' ? 'approved' : 'denied', decision);
    return decided.isFirst ? this.#shown(decided.approval) : this.#tooLate(decided.approval);
  }

  #tooLate(found: StoredApproval): RefusedDecision {
    const error = new ConflictError(`the approval is ${found.state}; the first decision counts`);
    return { error, approval: this.#shown(found) };
  }

  async #stored(id: string): Promise<StoredApproval> {
    const found = await this.#host.approvals.find(id);
    if (found !== undefined) return found;
    throw new NotFoundError(
      `there is no approval ${JSON.stringify(id.slice(0, 200))}; GET /approvals lists them, and their records end with those of their runs`,
    );
  }

  /** What tools and people wrote may have any secret in it (A9). */
  #shown(stored: StoredApproval): ShownApproval {
    const { redactor } = this.#host.gateway;
    const redacted = <T>(value: T) => redactedJson(value, (text) => redactor.redact(text));
    const { id, run, trigger, state, askedAt, expiresAt, decidedAt } = stored;
    const body = redacted(bodyOf(stored));
    const found = decisionOf(stored);
    const decision = found && redacted(found);
    return { id, run, trigger, state, askedAt, expiresAt, decidedAt, body, decision };
  }
}
