// Webhook endpoint: receives activities after their tokens were verified.
//
// An activity with a service URL or a tenant that no trigger of the app allows is refused (403) and not
// stored. The conversation's service URL is stored before the acknowledgement. Every invoke gets the same
// immediate response, because its sender waits for it; the result is a separate message.

import type { TeamChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Log } from '../../base/errors/log.ts';
import type { Principal } from '../../identity/principal.ts';
import { hasPendingApprovals } from '../chats/decisions.ts';
import { BotMessageLimit } from '../chats/message-limit.ts';
import { textMember } from '../payloads/payload-member.ts';
import type { WebhookReply, WebhookRequest } from '../webhooks/webhook.ts';
import { acceptanceReply, malformed } from '../webhooks/webhook-replies.ts';
import { namesOf, type PathHandler, type WebhookSubscriber } from '../webhooks/webhook-table.ts';
import { areTenantsAllowed } from './access-filter.ts';
import { type Activity, activityIn, payloadOf } from './activity.ts';
import { invokedChoice } from './activity-choice.ts';
import { activityEvent, CARD_ACTION, decisionOf, REACTION } from './event.ts';
import { isServiceAllowed } from './service-urls.ts';
import type { StoredConversations } from './stored-conversations.ts';

export type TeamChatSubscriber = WebhookSubscriber<TeamChatTrigger>;

type Subscribers = readonly [TeamChatSubscriber, ...TeamChatSubscriber[]];

/** The platform shows this text to the person who pressed a button, until the result arrives. */
const invokeReply: WebhookReply = {
  status: 200,
  body: { statusCode: 200, type: 'application/vnd.microsoft.activity.message', value: 'Received.' },
};
/** The status that the platform's library uses. */
const unknownInvoke: WebhookReply = { status: 501, body: 'the only supported invoke is adaptiveCard/action' };
const ignoredReply: WebhookReply = { status: 202, body: { status: 'ignored' } };
const serviceRefusal: WebhookReply = {
  status: 403,
  body: 'serviceUrl is not https, or its host is neither known nor in service_url_allow',
};
const tenantRefusal: WebhookReply = { status: 403, body: 'the tenant is not in allowed_tenants' };

export function teamChatPath(
  maxBodyBytes: number,
  conversations: StoredConversations,
): PathHandler<TeamChatSubscriber> {
  const messageLimit = new BotMessageLimit();
  return {
    maxBodyBytes,
    unauthorisedText: 'Authorization has no token for an app_id of this path',
    async receive({ subscribers, principal }, request, body) {
      const activity = activityIn(payloadOf(body));
      if (activity === undefined)
        return malformed(
          'the body is not an activity of the platform: type, channelId, serviceUrl or conversation.id is missing or invalid',
        );
      const allowedSubscribers = subscribers.filter(({ trigger }) =>
        isServiceAllowed(activity.serviceUrl, trigger.config),
      );
      if (allowedSubscribers.length === 0) return serviceRefusal;
      const [first, ...others] = allowedSubscribers.filter(({ trigger }) =>
        areTenantsAllowed(trigger, activity),
      );
      if (first === undefined) return tenantRefusal;
      const reply = replyWithoutEvent(activity);
      if (reply !== undefined) return reply;
      return accept([first, ...others], activity as Activity & { readonly id: string }, {
        principal,
        request,
        body,
      });
    },
  };

  async function accept(
    subscribers: Subscribers,
    activity: Activity & { readonly id: string },
    { principal, request, body }: { principal: Principal; request: WebhookRequest; body: Buffer },
  ): Promise<WebhookReply> {
    const [{ host, trigger }] = subscribers;
    const app = trigger.config.app_id;
    const isReaction = activity.type === REACTION;
    const isDecision =
      decisionOf(activity) !== undefined && (!isReaction || (await hasPendingApprovals(host.store)));
    const about = { triggers: namesOf(subscribers), app, principal, trace: request.traceparent };
    const event = activityEvent(activity, { ...about, isDecision }, body);
    if (!isAdmitted(activity, event.id, app, host.log))
      return activity.type === 'invoke' ? invokeReply : ignoredReply;
    const triggers = subscribers.map((subscriber) => subscriber.trigger);
    await conversations.save(app, triggers, activity);
    const appended = await host.accept(event);
    // The reaction may also be on a message that asks for no approval, so it is a normal event as well.
    if (isReaction && isDecision && triggers.some(({ config }) => config.reactions === 'allow'))
      await host.accept(activityEvent(activity, { ...about, isDecision: false }, body));
    if (activity.type === 'invoke') return invokeReply;
    return acceptanceReply(appended);
  }

  function isAdmitted({ conversation, speaker }: Activity, id: string, app: string, log: Log): boolean {
    if (speaker === undefined) return true;
    const message = { conversation: JSON.stringify([app, conversation]), isByBot: speaker === 'bot', id };
    return messageLimit.admit(message, log, { app, conversation });
  }
}

/**
 * Returns the response to an activity that is not stored. Otherwise returns undefined, and the activity has
 * an id.
 */
function replyWithoutEvent({ type, id, senderId, payload }: Activity): WebhookReply | undefined {
  // Typing indicators are frequent, and no trigger handles them.
  if (type === 'typing') return ignoredReply;
  if (type === 'invoke') {
    if (textMember(payload, 'name') !== CARD_ACTION) return unknownInvoke;
    if (invokedChoice(payload.value) === undefined) return malformed('the invoke has no action');
  }
  if ((type === 'message' || type === 'invoke') && (id === undefined || senderId === undefined))
    return malformed('the activity has no id, or no sender');
  return id === undefined ? ignoredReply : undefined;
}
