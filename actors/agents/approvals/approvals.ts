// Decides stored approvals: by people in a chat, by an operator, or at the timeout. One commit contains the
// decision, the event that wakes the run, and the new text of the request message. The first decision counts;
// later callers get that outcome. An overdue approval cannot be decided; the store's clock measures the
// timeout. Reading changes nothing: the run expires an overdue approval, or a late decision does.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { Log } from '../../base/errors/log.ts';
import { redactJson } from '../../base/errors/redacted-json.ts';
import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import { type Adapter, accountOf } from '../../platforms/adapter.ts';
import type { DecidedApproval, StoredApproval } from '../../store/approval.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { gatherApprovals } from '../../store/list-parts.ts';
import { stepsOf } from '../../store/run.ts';
import type { Store } from '../../store/store.ts';
import type { DecisionOutcome } from './message.ts';
import { type MessagePlace, outcomeRows } from './outbox-rows.ts';
import { type ApprovalBody, bodyOf, type DecisionBody, decisionOf } from './record.ts';
import { approvalWake } from './run-approvals.ts';

/** Loaded and enabled triggers, and their adapters. */
export interface ApprovalTriggers {
  adapterOf(platform: string): Adapter | undefined;
  trigger(name: string): Trigger | undefined;
  triggers(): readonly Trigger[];
}

export interface ApprovalsOptions {
  readonly store: Pick<Store, 'approval' | 'decide' | 'now'>;
  readonly triggerLookup: ApprovalTriggers;
  readonly log: Log;
  /** Redacts secrets in a text. */
  redact(text: string): string;
}

type PersonDecision = 'approved' | 'denied';

/** Limit of open approvals per run. */
const MAX_OPEN = 100;

/** A journal row of any kind. */
interface ApprovalJournalRow {
  readonly kind: string;
  readonly approval?: string;
}

export class Approvals {
  readonly #options: ApprovalsOptions;

  constructor(options: ApprovalsOptions) {
    this.#options = options;
  }

  /** Returns a redacted copy of the request: tool arguments may contain secrets. */
  redactedCopy<T extends object>(request: T): T {
    return redactJson(request, (text) => this.#options.redact(text));
  }

  /** Returns undefined for unknown ids. Rejects with the store's error. */
  find(id: string): Promise<StoredApproval | undefined> {
    return this.#options.store.approval(id);
  }

  /**
   * Expires an overdue approval that its run has just read, and returns the current state. The run works, so
   * it is not woken.
   */
  async expireIfDue(approval: StoredApproval): Promise<StoredApproval> {
    if (approval.state !== 'pending' || !isOverdue(approval)) return approval;
    return (await this.#decide(approval, 'expired', { via: 'timer' }, false)).approval;
  }

  /**
   * Decides an approval that was just read; the caller has checked the permission. An overdue one expires
   * instead. Rejects with the store's error.
   */
  async decide(
    approval: StoredApproval,
    state: PersonDecision,
    decision: DecisionBody,
  ): Promise<DecidedApproval> {
    if (!isOverdue(approval)) return this.#decide(approval, state, decision, true);
    const expired = await this.#decide(approval, 'expired', { via: 'timer' }, true);
    return { ...expired, isFirst: false };
  }

  async #decide(
    approval: StoredApproval,
    state: PersonDecision | 'expired',
    input: DecisionBody,
    wakesRun: boolean,
  ): Promise<DecidedApproval> {
    const { store, log } = this.#options;
    const decision = this.#withoutSecrets(input);
    const { id, run } = approval;
    const body = bodyOf(approval);
    const emit = [
      ...(wakesRun ? [wakingEvent(approval, body, state)] : []),
      ...this.#outcomeRows(approval, body, { state, decision, at: store.now() }),
    ];
    const decided = await store.decide(id, { state, decision: JSON.stringify(decision), emit });
    if (decided === undefined) return { isFirst: false, approval: { ...approval, state: 'cancelled' } };
    const { by, via, operator } = decision;
    if (decided.isFirst) log.info({ approval: id, run, by, via, operator, state }, 'approval decided');
    return decided;
  }

  /**
   * Returns the messages that an approved action was not done, for each approval that a finished run did not
   * use. `undone` is the reason. Rejects with the store's error.
   */
  async undoneRows(
    { id: run, steps = 0 }: Pick<StoredEvent, 'id' | 'steps'>,
    undone: string,
    store: Pick<Store, 'approvals' | 'steps'>,
  ): Promise<readonly NewEvent[]> {
    const filter = { run, states: ['approved'], limit: MAX_OPEN } as const;
    const approved = await gatherApprovals(filter, (each) => store.approvals(each));
    const rows = approved.length === 0 ? [] : await stepsOf(store, run, steps);
    const usedApprovals = new Set(
      rows
        .map((text) => JSON.parse(text) as ApprovalJournalRow)
        .filter(({ kind }) => kind === 'decided')
        .map(({ approval }) => approval),
    );
    return approved.flatMap((approval) => {
      const decision = decisionOf(approval);
      if (usedApprovals.has(approval.id) || decision === undefined) return [];
      const outcome = { state: 'approved', decision, at: approval.decidedAt, undone } as const;
      return this.#outcomeRows(approval, bodyOf(approval), outcome);
    });
  }

  /** Redacts the comment, which is visible in chats, to the run and in the record. */
  #withoutSecrets(decision: DecisionBody): DecisionBody {
    const { comment } = decision;
    return comment === undefined ? decision : { ...decision, comment: this.#options.redact(comment) };
  }

  #outcomeRows(
    { id, run }: StoredApproval,
    body: ApprovalBody,
    outcome: DecisionOutcome,
  ): readonly NewEvent[] {
    const { question } = body;
    const at = messagePlace(this.#options.triggerLookup, body);
    if (question === undefined || at === undefined) return [];
    try {
      return outcomeRows(at, { id, run }, this.redactedCopy(body), question, outcome);
    } catch (error) {
      if (!(error instanceof UnrenderableError)) throw error;
      const reason = error.message;
      this.#options.log.warn({ approval: id, reason }, 'cannot show the outcome of an approval');
      return [];
    }
  }
}

function isOverdue({ expiresInMs = Number.POSITIVE_INFINITY }: StoredApproval): boolean {
  return expiresInMs <= 0;
}

function wakingEvent(
  { id, run, key }: StoredApproval,
  { trace }: ApprovalBody,
  state: PersonDecision | 'expired',
): NewEvent {
  const meta = JSON.stringify({ approval: id, state });
  const wakes = approvalWake(run);
  return {
    id: `decision:${id}`,
    key,
    kind: 'decision',
    wakes,
    meta,
    body: new Uint8Array(),
    trace,
    isOnce: true,
  };
}

/**
 * Returns the place of the request message, with a trigger that can still send there: the original trigger,
 * or another trigger of the same account.
 */
function messagePlace(
  { adapterOf, trigger, triggers }: ApprovalTriggers,
  { rights: { home }, question }: ApprovalBody,
): MessagePlace | undefined {
  const adapter = home && adapterOf(home.platform);
  if (home === undefined || question === undefined || adapter === undefined) return undefined;
  const originalTrigger = trigger(question.trigger);
  const candidates = originalTrigger === undefined ? triggers() : [originalTrigger, ...triggers()];
  const sender = candidates.find(
    (each) => each.type === adapter.type && accountOf(adapter, each).account === home.account,
  );
  return sender && { adapter, trigger: sender, target: question.target };
}
