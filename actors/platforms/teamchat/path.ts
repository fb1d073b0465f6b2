// What a path of the team chat does with requests: it takes activities, whose tokens were verified, and says to the sender at once
// what it waits for.
//
// TCP1  services and tenants that no trigger of the app allows are refused (403) before anything is kept.
// TCP2  where a message of our own reaches the conversation is kept before its activity is acknowledged.
// TCP3  an invoke is answered with the same body whatever comes of it, since its sender waits for that; the answer is a message.

import type { TeamChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Log } from '../../base/errors/log.ts';
import type { Principal } from '../../identity/principal.ts';
import { BotTurns } from '../chats/bot-turns.ts';
import { isAnybodyAsked } from '../chats/chat-decisions.ts';
import { textMember } from '../payloads/payload-member.ts';
import type { WebhookReply, WebhookRequest } from '../webhooks/webhook.ts';
import { duplicate, malformed } from '../webhooks/webhook-replies.ts';
import { namesOf, type PathUse, type WebhookSubscriber } from '../webhooks/webhook-table.ts';
import { type Activity, activityIn, payloadOf } from './activity.ts';
import { invokedIn } from './activity-choice.ts';
import { activityEvent, CARD_ACTION, decisionOf, REACTION } from './event.ts';
import type { KnownConversations } from './known-conversations.ts';
import { isServiceAllowed } from './service-urls.ts';
import { areTenantsAllowed } from './who-may.ts';

export type TeamChatSubscriber = WebhookSubscriber<TeamChatTrigger>;

type Subscribers = readonly [TeamChatSubscriber, ...TeamChatSubscriber[]];

/** For the person who pressed a button, while an agent is asked. */
const invokeTaken: WebhookReply = {
  status: 200,
  body: { statusCode: 200, type: 'application/vnd.microsoft.activity.message', value: 'Received.' },
};
/** As the platform's library says it. */
const unknownInvoke: WebhookReply = { status: 501, body: 'of invokes only adaptiveCard/action is taken' };
const nothingToKeep: WebhookReply = { status: 202, body: { status: 'ignored' } };
const foreignService: WebhookReply = {
  status: 403,
  body: 'serviceUrl is not https, or its host is neither known nor in service_url_allow',
};
const foreignTenant: WebhookReply = { status: 403, body: 'the tenant is not in allowed_tenants' };

export function teamChatPath(
  maxBodyBytes: number,
  conversations: KnownConversations,
): PathUse<TeamChatSubscriber> {
  const turns = new BotTurns();
  return {
    maxBodyBytes,
    unauthorised: 'Authorization has no token that is for an app_id of this path',
    async receive({ subscribers, principal }, request, body) {
      const activity = activityIn(payloadOf(body));
      if (activity === undefined)
        return malformed(
          'the body is no activity of the platform: type, channelId, serviceUrl or conversation.id is missing, or is no id',
        );
      const known = subscribers.filter(({ trigger }) =>
        isServiceAllowed(activity.serviceUrl, trigger.config),
      );
      if (known.length === 0) return foreignService;
      const [first, ...others] = known.filter(({ trigger }) => areTenantsAllowed(trigger, activity));
      if (first === undefined) return foreignTenant;
      const refused = refusalOf(activity);
      if (refused !== undefined) return refused;
      return take([first, ...others], activity as Activity & { readonly id: string }, {
        principal,
        request,
        body,
      });
    },
  };

  async function take(
    subscribers: Subscribers,
    activity: Activity & { readonly id: string },
    { principal, request, body }: { principal: Principal; request: WebhookRequest; body: Buffer },
  ): Promise<WebhookReply> {
    const [{ host, trigger }] = subscribers;
    const app = trigger.config.app_id;
    const isReaction = activity.type === REACTION;
    const isDecision =
      decisionOf(activity) !== undefined && (!isReaction || (await isAnybodyAsked(host.store)));
    const about = { triggers: namesOf(subscribers), app, principal, trace: request.traceparent };
    const event = activityEvent(activity, { ...about, isDecision }, body);
    if (!isItsTurn(activity, event.id, app, host.log))
      return activity.type === 'invoke' ? invokeTaken : nothingToKeep;
    const triggers = subscribers.map((subscriber) => subscriber.trigger);
    await conversations.note(app, triggers, activity);
    const { outcome } = await host.accept(event);
    // Whether the message asks for an approval nobody knows here.
    if (isReaction && isDecision && triggers.some(({ config }) => config.reactions === 'allow'))
      await host.accept(activityEvent(activity, { ...about, isDecision: false }, body));
    if (activity.type === 'invoke') return invokeTaken;
    return outcome === 'duplicate'
      ? duplicate(event.id)
      : { status: 202, body: { id: event.id, status: 'accepted' } };
  }

  function isItsTurn({ conversation, speaker }: Activity, id: string, app: string, log: Log): boolean {
    if (speaker === undefined) return true;
    const turn = { conversation: JSON.stringify([app, conversation]), isByBot: speaker === 'bot', id };
    return turns.take(turn, log, { app, conversation });
  }
}

/** What is answered without being kept; undefined for what is to be taken, which has an id then. */
function refusalOf({ type, id, senderId, payload }: Activity): WebhookReply | undefined {
  // Nobody answers that somebody is writing, and it comes often.
  if (type === 'typing') return nothingToKeep;
  if (type === 'invoke') {
    if (textMember(payload, 'name') !== CARD_ACTION) return unknownInvoke;
    if (invokedIn(payload.value) === undefined) return malformed('the invoke has no action');
  }
  if ((type === 'message' || type === 'invoke') && (id === undefined || senderId === undefined))
    return malformed('the activity has no id, or no sender');
  return id === undefined ? nothingToKeep : undefined;
}
