// Webhook endpoint: receives notifications, and responds to the platform's verification of the endpoint.

import type { BusinessMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { NewEvent } from '../../store/event.ts';
import type { Store } from '../../store/store.ts';
import { hasPendingApprovals } from '../chats/decisions.ts';
import { acceptAll } from '../webhooks/accept-all.ts';
import { isSameSecret } from '../webhooks/header-verifier.ts';
import type { VerifiedRequest } from '../webhooks/verified-subscribers.ts';
import type { WebhookReply, WebhookRequest } from '../webhooks/webhook.ts';
import { malformed } from '../webhooks/webhook-replies.ts';
import { namesOf, type PathHandler, type WebhookSubscriber } from '../webhooks/webhook-table.ts';
import { messageEvent } from './event.ts';
import { LateFailures } from './late-failures.ts';
import { type Notification, readNotification } from './notification.ts';
import { SenderAliases } from './sender-aliases.ts';
import type { SendsInProgress } from './sends-in-progress.ts';

export const SIGNATURE = 'x-hub-signature-256';

export type MessengerSubscriber = WebhookSubscriber<BusinessMessengerTrigger>;

type Subscribers = readonly MessengerSubscriber[];

export function businessMessengerPath(
  maxBodyBytes: number,
  sending: SendsInProgress,
): PathHandler<MessengerSubscriber> {
  const failures = new LateFailures(sending);
  const aliases = new WeakMap<Store, SenderAliases>();
  const aliasesIn = (store: Store) => {
    const existing = aliases.get(store) ?? new SenderAliases(store);
    aliases.set(store, existing);
    return existing;
  };
  return {
    maxBodyBytes,
    unauthorisedText: 'X-Hub-Signature-256 is missing or does not match an app_secret of this path',
    answer: (subscribers, request) =>
      request.method === 'GET' ? handshake(subscribers, request) : undefined,
    async receive(verified, request, body) {
      const [{ host }] = verified.subscribers;
      const notification = readNotification(body);
      if (notification === undefined) return malformed('the body is not a notification of the platform');
      const events = await eventsOf(notification, verified, request, aliasesIn(host.store), host.store);
      await acceptAll(host, events);
      await failures.record(notification.failures, verified.subscribers);
      return { status: 200, body: { status: events.length === 0 ? 'ignored' : 'accepted' } };
    },
  };
}

/**
 * Returns the notification's events. A message is only for the triggers with its receiving number; some
 * numbers have no trigger.
 */
async function eventsOf(
  { messages }: Notification,
  { subscribers, principal }: VerifiedRequest<MessengerSubscriber>,
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
    const isReaction = decision !== undefined && 'message' in decision.about;
    const isDecision = decision !== undefined && (!isReaction || (await hasPendingApprovals(store)));
    const conversation = await aliases.nameOf(phoneNumberId, sender);
    return messageEvent({ triggers, conversation, principal, isDecision }, message, request);
  });
  return (await Promise.all(events)).filter((event) => event !== undefined);
}

/** Responds to the request by which the platform verifies that the path belongs to the app. */
function handshake(subscribers: Subscribers, { query }: WebhookRequest): WebhookReply {
  const parameters = new URLSearchParams(query);
  const challenge = parameters.get('hub.challenge');
  const token = parameters.get('hub.verify_token') ?? '';
  if (parameters.get('hub.mode') !== 'subscribe') return { status: 400, body: 'hub.mode is not subscribe' };
  if (!subscribers.some(({ trigger }) => isSameSecret(token, trigger.config.verify_token)))
    return { status: 403, body: 'hub.verify_token matches no trigger of this path' };
  // The challenge is returned unchanged, unless a browser might render it as a page.
  if (challenge === null || !/^[^<>\p{Cc}]{1,1024}$/u.test(challenge))
    return { status: 400, body: 'hub.challenge is missing or invalid' };
  return { status: 200, headers: [['x-content-type-options', 'nosniff']], body: challenge };
}
