// What a path of the business messenger does with requests: it proves to the platform that it is ours, and takes its
// notifications.

import type { BusinessMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { NewEvent } from '../../store/event.ts';
import type { Store } from '../../store/store.ts';
import { isAnybodyAsked } from '../chats/chat-decisions.ts';
import { acceptAll } from '../webhooks/accept-all.ts';
import { isSameSecret } from '../webhooks/header-verifier.ts';
import type { Verified } from '../webhooks/verified-subscribers.ts';
import type { WebhookReply, WebhookRequest } from '../webhooks/webhook.ts';
import { malformed } from '../webhooks/webhook-replies.ts';
import { namesOf, type PathUse, type WebhookSubscriber } from '../webhooks/webhook-table.ts';
import { messageEvent } from './event.ts';
import { LateFaults } from './late-faults.ts';
import { type Notification, readNotification } from './notification.ts';
import { SenderAliases } from './sender-aliases.ts';
import type { SendingNow } from './sending-now.ts';

export const SIGNATURE = 'x-hub-signature-256';

export type MessengerSubscriber = WebhookSubscriber<BusinessMessengerTrigger>;

type Subscribers = readonly MessengerSubscriber[];

export function businessMessengerPath(
  maxBodyBytes: number,
  sending: SendingNow,
): PathUse<MessengerSubscriber> {
  const faults = new LateFaults(sending);
  const aliases = new WeakMap<Store, SenderAliases>();
  const aliasesIn = (store: Store) => {
    const known = aliases.get(store) ?? new SenderAliases(store);
    aliases.set(store, known);
    return known;
  };
  return {
    maxBodyBytes,
    unauthorised: 'X-Hub-Signature-256 is missing, or fits no app_secret of this path',
    answer: (subscribers, request) =>
      request.method === 'GET' ? handshake(subscribers, request) : undefined,
    async receive(verified, request, body) {
      const [{ host }] = verified.subscribers;
      const notification = readNotification(body);
      if (notification === undefined) return malformed('the body is no notification of the platform');
      const events = await eventsOf(notification, verified, request, aliasesIn(host.store), host.store);
      await acceptAll(host, events);
      await faults.note(notification.faults, verified.subscribers);
      return { status: 200, body: { status: events.length === 0 ? 'ignored' : 'accepted' } };
    },
  };
}

/** A message is for the triggers of its number; other numbers of the app may have none here. */
async function eventsOf(
  { messages }: Notification,
  { subscribers, principal }: Verified<MessengerSubscriber>,
  request: WebhookRequest,
  aliases: SenderAliases,
  store: Store,
): Promise<readonly NewEvent[]> {
  const events = messages.map(async (message) => {
    const { phoneNumberId, sender, decision } = message;
    const triggers = namesOf(
      subscribers.filter(({ trigger }) => trigger.config.phone_number_id === phoneNumberId),
    );
    if (triggers.length === 0) return undefined;
    const isMark = decision !== undefined && 'message' in decision.about;
    const isDecision = decision !== undefined && (!isMark || (await isAnybodyAsked(store)));
    const conversation = await aliases.nameOf(phoneNumberId, sender);
    return messageEvent({ triggers, conversation, principal, isDecision }, message, request);
  });
  return (await Promise.all(events)).filter((event) => event !== undefined);
}

/** The platform asks whether the path belongs to whoever has given it a token. */
function handshake(members: Subscribers, { query }: WebhookRequest): WebhookReply {
  const asked = new URLSearchParams(query);
  const challenge = asked.get('hub.challenge');
  const token = asked.get('hub.verify_token') ?? '';
  if (asked.get('hub.mode') !== 'subscribe') return { status: 400, body: 'hub.mode is not subscribe' };
  if (!members.some(({ trigger }) => isSameSecret(token, trigger.config.verify_token)))
    return { status: 403, body: 'hub.verify_token is none of this path' };
  // It goes back as it came; what a browser might take for a page does not.
  if (challenge === null || !/^[^<>\p{Cc}]{1,1024}$/u.test(challenge))
    return { status: 400, body: 'hub.challenge is missing, or is none' };
  return { status: 200, headers: [['x-content-type-options', 'nosniff']], body: challenge };
}
