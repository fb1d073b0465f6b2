// What becomes of a decision from a chat. Which trigger is for the conversation, its commands and its filters make no difference: who may
// decide stands in the approval alone.
//
// DIC1  whoever may not is told so, and nothing has changed; a mark on any other message is nobody's.
// DIC2  an event that is handled again says nothing else than before.
// DIC3  whoever presses hears of it, alone where the platform has a way to that; those who press in vain again and again are bounded
//       (approvals/refusal-limit.ts).

import { outcomeText } from '../../agents/approvals/approval-message.ts';
import { bodyOf, type DecisionBody, decisionOf } from '../../agents/approvals/approval-record.ts';
import { approvalOfRow } from '../../agents/approvals/approval-rows.ts';
import type { Approvals } from '../../agents/approvals/approvals.ts';
import type { RefusalLimit } from '../../agents/approvals/refusal-limit.ts';
import { type ChatDecider, refusalOf } from '../../agents/approvals/who-may-decide.ts';
import type { DecisionInbound } from '../../events/decision-inbound.ts';
import type { Outcome } from '../../events/inbox/work.ts';
import { destinationKey } from '../../events/outbox/outbox-rows.ts';
import { accountOf } from '../../platforms/adapter.ts';
import type { ApprovalState, StoredApproval } from '../../store/approval.ts';
import type { Store } from '../../store/store.ts';
import { said, saidToPress, type Taken } from './replies.ts';

export interface DecidedInChatOptions {
  readonly approvals: Approvals;
  readonly store: Pick<Store, 'withReceipt'>;
  readonly refusals: RefusalLimit;
}

/** `taken.trigger` speaks for the gateway there. Rejects as the store does; throws UnrenderableError. */
export async function decidedInChat(
  taken: Taken,
  { verdict, about }: DecisionInbound,
  { approvals, store, refusals }: DecidedInChatOptions,
): Promise<Outcome> {
  const isPress = 'approval' in about;
  const id = isPress ? about.approval : await askedBy(taken, about.message, store);
  const found = id === undefined ? undefined : await approvals.find(id);
  const decider = deciderOf(taken);
  const body = found && bodyOf(found);
  // The name of a chat may begin as that of another one.
  const isHere = isPress || decider?.channels.includes(body?.rights.home?.place ?? '') === true;
  const isNews = () => refusals.mayTell(personIn(taken), id ?? '', taken.event.id);
  if (found === undefined || body === undefined || !isHere)
    return isPress
      ? told(taken, GONE, isNews(), 'it decides about nothing that is known any more')
      : { kind: 'ignored', note: 'a mark on a message that asks nothing' };
  const refusal = decider === undefined ? 'nobody knows who you are' : refusalOf(body, decider);
  if (decider === undefined || refusal !== undefined)
    return told(taken, `Sorry, ${refusal}.`, isNews(), refusal);
  const [name] = decider.aliases;
  const decision: DecisionBody = { by: decider.user, name, via: 'chat' };
  const state = verdict === 'approve' ? 'approved' : 'denied';
  if (found.state === 'pending') {
    const decided = await approvals.decide(found, state, decision);
    if (decided.isFirst) return done(taken, state, `${found.id} is ${state}`);
    return late(taken, decided.approval, decision, isPress && isNews);
  }
  return late(taken, found, decision, isPress && isNews);
}

const GONE = 'What this asked for is not known any more.';

/** `isNews` of a press; of a mark nothing is said. */
function late(
  taken: Taken,
  found: StoredApproval,
  { by }: DecisionBody,
  isNews: false | (() => boolean),
): Outcome {
  const decision = decisionOf(found);
  const isTheirs = decision?.via === 'chat' && decision.by === by;
  const { state, decidedAt: at } = found;
  if (isNews === false || isTheirs || state === 'pending')
    return done(taken, state, `it is ${state} already`);
  return told(taken, `This is settled already. ${outcomeText({ state, decision, at })}`, isNews());
}

/** What came of it stands in the place of the question, for everybody. */
function done(taken: Taken, state: ApprovalState, note: string): Outcome {
  const shown = saidToPress(taken, `It is ${state}.`, { status: 'success', orElse: 'nothing' });
  return { trigger: taken.trigger.name, ...shown, kind: 'done', note };
}

function told(taken: Taken, text: string, isNews: boolean, note?: string): Outcome {
  const alone = saidToPress(taken, text, { status: 'warning', orElse: isNews ? 'post' : 'nothing' });
  if (alone !== undefined) return { ...alone, kind: 'ignored', note };
  if (isNews) return { ...said(taken, text, { status: 'warning', mentions: 'none' }), kind: 'ignored', note };
  const why = note === undefined ? '' : `${note}; `;
  return { kind: 'ignored', trigger: taken.trigger.name, note: `${why}they were told so a moment ago` };
}

function personIn({ inbound: { platform, account, user } }: Taken): string {
  return JSON.stringify([platform, account, user]);
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
