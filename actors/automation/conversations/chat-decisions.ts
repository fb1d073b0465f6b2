// Handles a decision from a chat: a button press on an approval request, or a reaction to its message.
// Only the approval defines the approvers; trigger, commands and filters of the conversation are irrelevant.
// A person without permission gets an explanation, and the approval stays pending. Reactions to other
// messages are ignored. A repeated event returns the same result. A press gets a private response if the
// platform supports it. Repeated explanations are limited (approvals/refusal-limit.ts).

import type { Approvals } from '../../agents/approvals/approvals.ts';
import { type ChatDecider, refusalOf } from '../../agents/approvals/decision-access.ts';
import { outcomeText } from '../../agents/approvals/message.ts';
import { approvalOfRow } from '../../agents/approvals/outbox-rows.ts';
import { bodyOf, type DecisionBody, decisionOf } from '../../agents/approvals/record.ts';
import type { RefusalLimit } from '../../agents/approvals/refusal-limit.ts';
import type { Audit } from '../../audit/audit-part.ts';
import type { DecisionInbound } from '../../events/decision-inbound.ts';
import type { WorkOutcome } from '../../events/inbox/work.ts';
import { destinationKey } from '../../events/outbox/rows.ts';
import { accountOf } from '../../platforms/adapter.ts';
import type { ApprovalState, StoredApproval } from '../../store/approval.ts';
import type { Store } from '../../store/store.ts';
import { messageOutcome, pressOutcome, type RoutedEvent } from './messages.ts';

export interface ChatDecisionOptions {
  readonly approvals: Approvals;
  readonly store: Pick<Store, 'withReceipt'>;
  readonly refusals: RefusalLimit;
  /** Undefined without an audit. */
  readonly audit: Pick<Audit, 'record' | 'refusal'> | undefined;
}

/**
 * Returns the outcome with the replies to the person. They are sent with the account of
 * `routedEvent.trigger`. Rejects with the store's error, UnrenderableError or AuditUnavailableError.
 */
export async function handleChatDecision(
  routedEvent: RoutedEvent,
  { verdict, about }: DecisionInbound,
  { approvals, store, refusals, audit }: ChatDecisionOptions,
): Promise<WorkOutcome> {
  const isPress = 'approval' in about;
  const id = isPress ? about.approval : await requestOf(routedEvent, about.message, store);
  const approval = id === undefined ? undefined : await approvals.find(id);
  const decider = deciderOf(routedEvent);
  const unavailable = audit?.refusal();
  if (unavailable !== undefined) throw unavailable;
  const body = approval && bodyOf(approval);
  // A reaction counts only in the chat of the request (`home`). `requestOf` searches by key prefix, so it may
  // find a request in another chat, whose id begins with the id of this chat.
  const isHere = isPress || decider?.channels.includes(body?.rights.home?.place ?? '') === true;
  const mayExplain = () => refusals.mayExplain(personIn(routedEvent), id ?? '', routedEvent.event.id);
  if (approval === undefined || body === undefined || !isHere)
    return isPress
      ? notifyOutcome(routedEvent, UNKNOWN_TEXT, mayExplain(), 'unknown approval')
      : { kind: 'ignored', note: 'reaction to a message without an approval request' };
  const record = (outcome: string) =>
    audit?.record({ ...senderOf(routedEvent), action: `approvals/${verdict}`, target: approval.id, outcome });
  const refusal = decider === undefined ? 'your identity is unknown' : refusalOf(body, decider);
  if (decider === undefined || refusal !== undefined) {
    record('refused');
    return notifyOutcome(routedEvent, `Sorry, ${refusal}.`, mayExplain(), refusal);
  }
  const [name] = decider.aliases;
  const decision: DecisionBody = { by: decider.user, name, via: 'chat' };
  const state = verdict === 'approve' ? 'approved' : 'denied';
  if (approval.state === 'pending') {
    const decided = await approvals.decide(approval, state, decision);
    record(decided.isFirst ? 'ok' : 'refused');
    if (decided.isFirst) return doneOutcome(routedEvent, state, `${approval.id} is ${state}`);
    return lateOutcome(routedEvent, decided.approval, decision, isPress && mayExplain);
  }
  record('refused');
  return lateOutcome(routedEvent, approval, decision, isPress && mayExplain);
}

const UNKNOWN_TEXT = 'This approval request no longer exists.';

/** Returns the outcome for a decided approval. `mayExplain` is false for reactions, which get no response. */
function lateOutcome(
  routedEvent: RoutedEvent,
  approval: StoredApproval,
  { by }: DecisionBody,
  mayExplain: false | (() => boolean),
): WorkOutcome {
  const decision = decisionOf(approval);
  const isTheirs = decision?.via === 'chat' && decision.by === by;
  const { state, decidedAt: at } = approval;
  if (mayExplain === false || isTheirs || state === 'pending')
    return doneOutcome(routedEvent, state, `already ${state}`);
  return notifyOutcome(routedEvent, `Already decided. ${outcomeText({ state, decision, at })}`, mayExplain());
}

/**
 * Returns a decision's outcome. The request message is replaced separately, for all participants, so the
 * private reply is dropped if the platform does not accept it (`orElse`).
 */
function doneOutcome(routedEvent: RoutedEvent, state: ApprovalState, note: string): WorkOutcome {
  const reply = pressOutcome(routedEvent, `Request ${state}.`, { status: 'success', orElse: 'nothing' });
  return { trigger: routedEvent.trigger.name, ...reply, kind: 'done', note };
}

function notifyOutcome(
  routedEvent: RoutedEvent,
  text: string,
  mayExplain: boolean,
  note?: string,
): WorkOutcome {
  const privateReply = pressOutcome(routedEvent, text, {
    status: 'warning',
    orElse: mayExplain ? 'post' : 'nothing',
  });
  if (privateReply !== undefined) return { ...privateReply, kind: 'ignored', note };
  if (mayExplain)
    return {
      ...messageOutcome(routedEvent, text, { status: 'warning', mentions: 'none' }),
      kind: 'ignored',
      note,
    };
  const why = note === undefined ? '' : `${note}; `;
  return { kind: 'ignored', trigger: routedEvent.trigger.name, note: `${why}explained a moment ago` };
}

/** Returns the person and the trace for the audit. */
function senderOf({ inbound: { platform, user }, event }: RoutedEvent) {
  return { principal: `${platform}:${user ?? 'unknown'}`, traceparent: event.trace };
}

function personIn({ inbound: { platform, account, user } }: RoutedEvent): string {
  return JSON.stringify([platform, account, user]);
}

/** Returns the id of the approval that a message requests. */
async function requestOf(
  { adapter, trigger, inbound }: RoutedEvent,
  receipt: string,
  store: Pick<Store, 'withReceipt'>,
): Promise<string | undefined> {
  const target = adapter.outbound?.target(trigger, inbound);
  const place = target?.place ?? inbound.channel;
  if (place === undefined) return undefined;
  // Message ids are unique only within a chat.
  const row = await store.withReceipt(destinationKey(accountOf(adapter, trigger), place), receipt);
  return row === undefined ? undefined : approvalOfRow(row);
}

function deciderOf({ adapter, trigger, inbound }: RoutedEvent): ChatDecider | undefined {
  const { platform, account, user, userAliases: aliases = [], channel, channelAliases = [] } = inbound;
  if (user === undefined) return undefined;
  const place = adapter.outbound?.target(trigger, inbound)?.place;
  const channels = [channel, place, ...channelAliases].filter((each) => each !== undefined);
  return { platform, account, user, aliases, channels };
}
