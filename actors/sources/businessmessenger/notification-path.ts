// What a path of the business messenger does with requests: it proves to the platform that it is ours, and takes its
// notifications.

import type { BusinessMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { isRefusal } from '../../principal.ts';
import type { NewEvent, Store } from '../../store/store.ts';
import { acceptAll } from '../accept-all.ts';
import { isSameSecret } from '../header-verifier.ts';
import {
  admitted,
  refusal,
  type Verified,
  type Verifier,
  verifiedSubscribers,
} from '../verified-subscribers.ts';
import type { WebhookReply, WebhookRequest } from '../webhook.ts';
import { malformed } from '../webhook-replies.ts';
import { namesOf, type PathUse, type WebhookSubscriber } from '../webhook-table.ts';
import { messageEvent } from './businessmessenger-event.ts';
import { LateFaults } from './late-faults.ts';
import { type Notification, type ReceivedMessage, readNotification } from './notification.ts';
import { SenderAliases } from './sender-aliases.ts';
import type { SendingNow } from './sending-now.ts';

export const SIGNATURE = 'x-hub-signature-256';
const UNAUTHORISED = 'X-Hub-Signature-256 is missing, or fits no app_secret of this path';

export interface MessengerSubscriber extends WebhookSubscriber {
  readonly trigger: BusinessMessengerTrigger;
  readonly verifier: Verifier;
}

type Subscribers = readonly MessengerSubscriber[];

export class NotificationPath implements PathUse<MessengerSubscriber> {
  readonly maxBodyBytes: number;
  readonly #aliases = new WeakMap<Store, SenderAliases>();
  readonly #faults: LateFaults;

  constructor(maxBodyBytes: number, sending: SendingNow) {
    this.maxBodyBytes = maxBodyBytes;
    this.#faults = new LateFaults(sending);
  }

  /** A GET has no body: it is answered here. */
  admit(members: Subscribers, request: WebhookRequest): WebhookReply | undefined {
    if (request.method === 'GET') return handshake(members, request);
    return admitted(members, request, UNAUTHORISED);
  }

  async receive(members: Subscribers, request: WebhookRequest, body: Buffer): Promise<WebhookReply> {
    const verdict = verifiedSubscribers(members, request, body);
    const verified = verdict instanceof Promise ? await verdict : verdict;
    if (isRefusal(verified)) return refusal(request, UNAUTHORISED, verified);
    const [first] = verified.subscribers;
    const notification = readNotification(body);
    if (notification === undefined) return malformed('the body is no notification of the platform');
    const events = await this.#eventsOf(notification, verified, request);
    await acceptAll(first.host, events);
    await this.#faults.note(notification.faults, verified.subscribers);
    return { status: 200, body: { status: events.length === 0 ? 'ignored' : 'accepted' } };
  }

  async #eventsOf(
    { messages }: Notification,
    { subscribers, principal }: Verified<MessengerSubscriber>,
    request: WebhookRequest,
  ): Promise<readonly NewEvent[]> {
    const events = messages.map(async (message) => {
      const takers = subscribers.filter(
        ({ trigger }) => trigger.config.phone_number_id === message.phoneNumberId,
      );
      const [first] = takers;
      if (first === undefined) return undefined;
      const names = namesOf(takers);
      const conversation = await this.#nameOf(first.host.store, message);
      return messageEvent({ triggers: names, conversation, principal }, message, request);
    });
    return (await Promise.all(events)).filter((event) => event !== undefined);
  }

  #nameOf(store: Store, { phoneNumberId, sender }: ReceivedMessage): Promise<string> {
    let aliases = this.#aliases.get(store);
    if (aliases === undefined) {
      aliases = new SenderAliases(store);
      this.#aliases.set(store, aliases);
    }
    return aliases.nameOf(phoneNumberId, sender);
  }
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
