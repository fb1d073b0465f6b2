// Approvals as they stand in the store, and how they are decided: by people in a chat, by an operator, or by their time being over. All
// ways end in one commit, which the first decision has, with the event that wakes the run and the change of the message.
//
// APV1  each approval has one outcome; whoever comes later is told that one.
// APV2  what is over its time is decided by nobody any more, whoever looks at it first.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { Log } from '../../base/errors/log.ts';
import { redactedJson } from '../../base/errors/redacted-json.ts';
import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import { type Adapter, accountOf } from '../../platforms/adapter.ts';
import type { DecidedApproval, StoredApproval } from '../../store/approval.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { stepsOf } from '../../store/run.ts';
import type { Store } from '../../store/store.ts';
import type { ShownOutcome } from './approval-message.ts';
import { type ApprovalBody, bodyOf, type DecisionBody, decisionOf } from './approval-record.ts';
import { type AskedAt, outcomeRows } from './approval-rows.ts';
import { approvalWake } from './run-approvals.ts';

/** What it needs to know of triggers: those that are loaded and enabled. */
export interface ApprovalPlaces {
  adapterOf(platform: string): Adapter | undefined;
  trigger(name: string): Trigger | undefined;
  triggers(): readonly Trigger[];
}

export interface ApprovalsOptions {
  readonly store: Pick<Store, 'approval' | 'decide'>;
  readonly places: ApprovalPlaces;
  readonly log: Log;
  /** Takes out of a text what may not be shown (A9). */
  redact(text: string): string;
}

type PeopleDecide = 'approved' | 'denied';

/** A run has no more of them open at a time. */
const MAX_TOLD = 100;

/** Of a row of a journal, of any kind. */
interface TakenUp {
  readonly kind: string;
  readonly approval?: string;
}

export class Approvals {
  readonly #options: ApprovalsOptions;

  constructor(options: ApprovalsOptions) {
    this.#options = options;
  }

  /** The same as people may see it: what a tool is to be given may have any secret in it. */
  shown<T extends object>(asked: T): T {
    return redactedJson(asked, (text) => this.#options.redact(text));
  }

  /** As it stands now. Undefined for one that is not known. Rejects as the store does. */
  async find(id: string): Promise<StoredApproval | undefined> {
    const found = await this.#options.store.approval(id);
    return found === undefined ? undefined : this.inTime(found);
  }

  /** The same of one that was found just now. */
  async inTime(found: StoredApproval, wakesRun = true): Promise<StoredApproval> {
    if (found.state !== 'pending' || leftMs(found) > 0) return found;
    return (await this.#decide(found, 'expired', { via: 'timer' }, wakesRun)).approval;
  }

  /** `found` is one that is in time; whether they may is known. Rejects as the store does. */
  decide(found: StoredApproval, state: PeopleDecide, decision: DecisionBody): Promise<DecidedApproval> {
    return this.#decide(found, state, decision, true);
  }

  async #decide(
    found: StoredApproval,
    state: PeopleDecide | 'expired',
    said: DecisionBody,
    wakesRun: boolean,
  ): Promise<DecidedApproval> {
    const { store, log } = this.#options;
    const decision = this.#withoutSecrets(said);
    const { id, run } = found;
    const body = bodyOf(found);
    const emit = [
      ...(wakesRun ? [wakingEvent(found, body, state)] : []),
      ...this.#outcomeRows(found, body, { state, decision, at: Date.now() }),
    ];
    const decided = await store.decide(id, { state, decision: JSON.stringify(decision), emit });
    if (decided === undefined) return { isFirst: false, approval: { ...found, state: 'cancelled' } };
    const { by, via, operator } = decision;
    if (decided.isFirst) log.info({ approval: id, run, by, via, operator, state }, 'an approval is decided');
    return decided;
  }

  /** What is said in the place of questions that were approved, of a run that ends without having taken that up. Rejects as the store does. */
  async undoneRows(
    { id: run, steps = 0 }: Pick<StoredEvent, 'id' | 'steps'>,
    undone: string,
    store: Pick<Store, 'approvals' | 'steps'>,
  ): Promise<readonly NewEvent[]> {
    const approved = await store.approvals({ run, states: ['approved'], limit: MAX_TOLD });
    const rows = approved.length === 0 ? [] : await stepsOf(store, run, steps);
    const takenUp = new Set(
      rows
        .map((text) => JSON.parse(text) as TakenUp)
        .map(({ kind, approval }) => kind === 'decided' && approval),
    );
    return approved.flatMap((found) => {
      const decision = decisionOf(found);
      if (takenUp.has(found.id) || decision === undefined) return [];
      const outcome = { state: 'approved', decision, at: found.decidedAt, undone } as const;
      return this.#outcomeRows(found, bodyOf(found), outcome);
    });
  }

  /** The comment is told in chats, to the run and in the record. */
  #withoutSecrets(said: DecisionBody): DecisionBody {
    const { comment } = said;
    return comment === undefined ? said : { ...said, comment: this.#options.redact(comment) };
  }

  #outcomeRows({ id, run }: StoredApproval, body: ApprovalBody, outcome: ShownOutcome): readonly NewEvent[] {
    const { question } = body;
    const at = askedAt(this.#options.places, body);
    if (question === undefined || at === undefined) return [];
    try {
      return outcomeRows(at, { id, run }, this.shown(body), question, outcome);
    } catch (error) {
      if (!(error instanceof UnrenderableError)) throw error;
      const reason = error.message;
      this.#options.log.warn({ approval: id, reason }, 'the outcome of an approval cannot be shown');
      return [];
    }
  }
}

/** Until it expires; below 0 afterwards. */
export function leftMs({ expiresAt, askedAt }: StoredApproval): number {
  if (expiresAt === undefined) return Number.POSITIVE_INFINITY;
  // The clock may have been set back while nothing ran.
  return Math.min(expiresAt - Date.now(), expiresAt - askedAt);
}

function wakingEvent(
  { id, run, key }: StoredApproval,
  { trace }: ApprovalBody,
  state: PeopleDecide | 'expired',
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

/** Where it was asked, by a trigger that can still speak there: the one of then, or any other of that account. */
function askedAt(
  { adapterOf, trigger, triggers }: ApprovalPlaces,
  { rights: { home }, question }: ApprovalBody,
): AskedAt | undefined {
  const adapter = home && adapterOf(home.platform);
  if (home === undefined || question === undefined || adapter === undefined) return undefined;
  const named = trigger(question.trigger);
  const candidates = named === undefined ? triggers() : [named, ...triggers()];
  const speaker = candidates.find(
    (each) => each.type === adapter.type && accountOf(adapter, each).account === home.account,
  );
  return speaker && { adapter, trigger: speaker, target: question.target };
}
