// What becomes of a decision from a chat. Which trigger is for the conversation, its commands and its filters make no difference: who may
// decide stands in the approval alone.
//
// DIC1  whoever may not is told so, and nothing has changed; a mark on any other message is nobody's.
// DIC2  an event that is handled again says nothing else than before.

import { outcomeText } from '../../approvals/approval-message.ts';
import { bodyOf, type DecisionBody, decisionOf } from '../../approvals/approval-record.ts';
import { approvalOfRow } from '../../approvals/approval-rows.ts';
import type { Approvals } from '../../approvals/approvals.ts';
import type { DecisionInbound } from '../../approvals/decision-inbound.ts';
import { type ChatDecider, refusalOf } from '../../approvals/who-may-decide.ts';
import type { Outcome } from '../../inbox/work.ts';
import { destinationKey } from '../../outbound/outbox-rows.ts';
import { accountOf } from '../../sources/adapter.ts';
import type { StoredApproval } from '../../store/approval.ts';
import type { Store } from '../../store/store.ts';
import { said, type Taken } from './replies.ts';

export interface DecidedInChatOptions {
  readonly approvals: Approvals;
  readonly store: Pick<Store, 'withReceipt'>;
}

/** `taken.trigger` speaks for the gateway there. Rejects as the store does; throws UnrenderableError. */
export async function decidedInChat(
  taken: Taken,
  { verdict, about }: DecisionInbound,
  { approvals, store }: DecidedInChatOptions,
): Promise<Outcome> {
  const isPress = 'approval' in about;
  const id = isPress ? about.approval : await askedBy(taken, about.message, store);
  const found = id === undefined ? undefined : await approvals.find(id);
  const decider = deciderOf(taken);
  const body = found && bodyOf(found);
  // The name of a chat may begin as that of another one.
  const isHere = isPress || decider?.channels.includes(body?.rights.home?.place ?? '') === true;
  if (found === undefined || body === undefined || !isHere)
    return isPress
      ? told(taken, GONE, 'it decides about nothing that is known any more')
      : { kind: 'ignored', note: 'a mark on a message that asks nothing' };
  const refusal = decider === undefined ? 'nobody knows who you are' : refusalOf(body, decider);
  if (decider === undefined || refusal !== undefined) return told(taken, `Sorry, ${refusal}.`, refusal);
  const [name] = decider.aliases;
  const decision: DecisionBody = { by: decider.user, name, via: 'chat' };
  const state = verdict === 'approve' ? 'approved' : 'denied';
  if (found.state === 'pending') {
    const decided = await approvals.decide(found, state, decision);
    if (decided.isFirst) return done(taken, `${found.id} is ${state}`);
    return late(taken, decided.approval, decision, isPress);
  }
  return late(taken, found, decision, isPress);
}

const GONE = 'What this asked for is not known any more.';

function late(taken: Taken, found: StoredApproval, { by }: DecisionBody, isPress: boolean): Outcome {
  const decision = decisionOf(found);
  const isTheirs = decision?.via === 'chat' && decision.by === by;
  if (!isPress || isTheirs || found.state === 'pending') return done(taken, `it is ${found.state} already`);
  const { state, decidedAt: at } = found;
  return told(taken, `This is settled already. ${outcomeText({ state, decision, at })}`);
}

const done = ({ trigger }: Taken, note: string): Outcome => ({ kind: 'done', trigger: trigger.name, note });

function told(taken: Taken, text: string, note?: string): Outcome {
  return { ...said(taken, text, { status: 'warning', mentions: 'none' }), kind: 'ignored', note };
}

/** The approval that the message asks for. */
async function askedBy(
  { adapter, trigger, inbound }: Taken,
  receipt: string,
  store: Pick<Store, 'withReceipt'>,
): Promise<string | undefined> {
  const target = adapter.outbound?.target(trigger, inbound);
  const place = target?.place ?? inbound.channel;
  if (place === undefined) return undefined;
  // Messages of several chats may be called the same.
  const row = await store.withReceipt(destinationKey(accountOf(adapter, trigger), place), receipt);
  return row === undefined ? undefined : approvalOfRow(row);
}

function deciderOf({ adapter, trigger, inbound }: Taken): ChatDecider | undefined {
  const { platform, account, user, userAliases: aliases = [], channel, channelAliases = [] } = inbound;
  if (user === undefined) return undefined;
  const place = adapter.outbound?.target(trigger, inbound)?.place;
  const channels = [channel, place, ...channelAliases].filter((each) => each !== undefined);
  return { platform, account, user, aliases, channels };
}
