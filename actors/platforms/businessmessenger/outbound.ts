// Sends messages to the platform: resolves targets, renders messages and calls the API. A reply is sent from
// the number that received the message.

import type { BusinessMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { conversationParts } from '../../events/outbox/conversation-name.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { GrowingPauses } from '../../events/outbox/growing-pauses.ts';
import type { Outbound } from '../../events/outbox/outbound.ts';
import { BusinessMessengerApi } from './api.ts';
import { PAIR_LIMIT } from './errors.ts';
import { MESSAGE_ID, SENDER_NUMBER, SENDER_USER_ID } from './event.ts';
import { limitsByName, messengerPacing } from './pacing.ts';
import { type MessengerBody, messageBodies, messageLimits } from './render-message.ts';
import type { SendsInProgress } from './sends-in-progress.ts';

/** Conversation name: a phone number without plus, or the platform's user id. */
const USER = /^(\d{1,20}|(?!\d*$)[\w.:-]{1,200})$/;
const TYPING_LASTS_MS = 25_000;

/** A message, and the number that sends it. */
interface NumberedBody {
  readonly from: string;
  readonly body: MessengerBody;
}

export function businessMessengerOutbound(
  sending: SendsInProgress,
): Outbound<BusinessMessengerTrigger, NumberedBody> {
  const pacing = messengerPacing();
  const pauses = new GrowingPauses();
  const apis = new WeakMap<BusinessMessengerTrigger, BusinessMessengerApi>();
  const apiOf = (trigger: BusinessMessengerTrigger) => {
    const api = apis.get(trigger) ?? new BusinessMessengerApi(trigger);
    apis.set(trigger, api);
    return api;
  };
  const markRead = async (trigger: BusinessMessengerTrigger, id: string, signal: AbortSignal, more = {}) => {
    const json = { messaging_product: 'whatsapp', status: 'read', message_id: id, ...more };
    await apiOf(trigger).post(trigger.config.phone_number_id, json, signal);
  };

  return {
    typingDurationMs: TYPING_LASTS_MS,
    target(_, inbound) {
      const destination = contextText(inbound, SENDER_NUMBER) ?? contextText(inbound, SENDER_USER_ID);
      return destination === undefined
        ? undefined
        : { place: destination, repliesTo: contextText(inbound, MESSAGE_ID) };
    },
    async destination({ config }, conversation) {
      const account = { platform: 'businessmessenger', account: config.phone_number_id };
      const [user = '', ...rest] = conversationParts(account, conversation) ?? [];
      return USER.test(user) && rest.length === 0 ? { place: user } : undefined;
    },
    rendersFormats: true,
    render: (trigger, message) =>
      messageBodies(message).map((body) => ({ from: trigger.config.phone_number_id, body })),
    limits: ({ config }) => ({
      ...messageLimits,
      ...pacing.currentLimits(config.phone_number_id, limitsByName),
    }),
    addressOf: ({ config }) => config.graph_url,
    async send(trigger, { from: account, body }, { signal }) {
      const destination = String(body.to ?? body.recipient ?? '');
      const id = await pacing.run({ account, destination, isOfDestination }, async () => {
        try {
          const messageId = await sending.track(account, () => apiOf(trigger).post(account, body, signal));
          pauses.end(account);
          pauses.end(`${account}/${destination}`);
          return messageId;
        } catch (error) {
          if (!(error instanceof DeliveryError) || !error.isRateLimited || error.retryAfterMs !== undefined)
            throw error;
          const name = isOfDestination(error) ? `${account}/${destination}` : account;
          throw error.with({ retryAfterMs: pauses.next(name, trigger.retry) });
        }
      });
      return { id };
    },
    async showTyping(trigger, { repliesTo }, signal) {
      if (repliesTo !== undefined)
        await markRead(trigger, repliesTo, signal, { typing_indicator: { type: 'text' } });
    },
    async markSeen(trigger, inbound, signal) {
      const id = contextText(inbound, MESSAGE_ID);
      if (id !== undefined) await markRead(trigger, id, signal);
    },
  };
}

const isOfDestination = ({ platformCode }: DeliveryError): boolean => platformCode === PAIR_LIMIT;

function contextText({ context }: InboundEvent, name: string): string | undefined {
  const value = context[name];
  return typeof value === 'string' ? value : undefined;
}
