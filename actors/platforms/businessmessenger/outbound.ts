// Answers of the business messenger: where they go, what they look like, and how they leave. They leave from the number to
// which the person wrote.

import type { BusinessMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { partsOfConversation } from '../../events/outbox/conversation-name.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { GrowingPauses } from '../../events/outbox/growing-pauses.ts';
import type { Outbound } from '../../events/outbox/outbound.ts';
import { BusinessMessengerApi } from './api.ts';
import { PAIR_LIMIT } from './errors.ts';
import { MESSAGE_ID, SENDER_NUMBER, SENDER_USER_ID } from './event.ts';
import { kindsOfPlaces, messengerPacing } from './pacing.ts';
import { type MessageBody, messageBodies, messageLimits } from './render-message.ts';
import type { SendingNow } from './sending-now.ts';

/** A phone number without its plus, or the platform's id of a user. */
const USER = /^(\d{1,20}|(?!\d*$)[\w.:-]{1,200})$/;
const TYPING_LASTS_MS = 25_000;

/** A message, and the number that it leaves from. */
interface NumberedBody {
  readonly from: string;
  readonly body: MessageBody;
}

export function businessMessengerOutbound(
  sending: SendingNow,
): Outbound<BusinessMessengerTrigger, NumberedBody> {
  const pacing = messengerPacing();
  const pauses = new GrowingPauses();
  const apis = new WeakMap<BusinessMessengerTrigger, BusinessMessengerApi>();
  const apiOf = (trigger: BusinessMessengerTrigger) => {
    const api = apis.get(trigger) ?? new BusinessMessengerApi(trigger);
    apis.set(trigger, api);
    return api;
  };
  const mark = async (trigger: BusinessMessengerTrigger, id: string, signal: AbortSignal, more = {}) => {
    const json = { messaging_product: 'whatsapp', status: 'read', message_id: id, ...more };
    await apiOf(trigger).post(trigger.config.phone_number_id, json, signal);
  };

  return {
    typingLastsMs: TYPING_LASTS_MS,
    target(_, inbound) {
      const place = contextText(inbound, SENDER_NUMBER) ?? contextText(inbound, SENDER_USER_ID);
      return place === undefined ? undefined : { place, repliesTo: contextText(inbound, MESSAGE_ID) };
    },
    async destination({ config }, conversation) {
      const account = { platform: 'businessmessenger', account: config.phone_number_id };
      const [user = '', ...rest] = partsOfConversation(account, conversation) ?? [];
      return USER.test(user) && rest.length === 0 ? { place: user } : undefined;
    },
    render: (trigger, message) =>
      messageBodies(message).map((body) => ({ from: trigger.config.phone_number_id, body })),
    limits: ({ config }) => ({
      ...messageLimits,
      ...pacing.inForce(config.phone_number_id, kindsOfPlaces),
    }),
    sendsTo: ({ config }) => config.graph_url,
    async send(trigger, { from: account, body }, { signal }) {
      const place = String(body.to ?? body.recipient ?? '');
      const id = await pacing.run({ account, place, isOfPlace }, async () => {
        try {
          const sent = await sending.during(account, () => apiOf(trigger).post(account, body, signal));
          pauses.end(account);
          pauses.end(`${account}/${place}`);
          return sent;
        } catch (error) {
          if (!(error instanceof DeliveryError) || !error.isTooSoon || error.retryAfterMs !== undefined)
            throw error;
          const name = isOfPlace(error) ? `${account}/${place}` : account;
          throw error.with({ retryAfterMs: pauses.next(name, trigger.retry) });
        }
      });
      return { id };
    },
    async typing(trigger, { repliesTo }, signal) {
      if (repliesTo !== undefined)
        await mark(trigger, repliesTo, signal, { typing_indicator: { type: 'text' } });
    },
    async seen(trigger, inbound, signal) {
      const id = contextText(inbound, MESSAGE_ID);
      if (id !== undefined) await mark(trigger, id, signal);
    },
  };
}

const isOfPlace = ({ platformCode }: DeliveryError): boolean => platformCode === PAIR_LIMIT;

function contextText({ context }: InboundEvent, name: string): string | undefined {
  const value = context[name];
  return typeof value === 'string' ? value : undefined;
}
