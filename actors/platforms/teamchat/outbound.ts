// Answers of the team chat: where they go, what they look like, and how they leave. A message answers an activity, or begins
// something new in a conversation that is known.
//
// The platform keeps no key of what was sent: after an attempt whose outcome is unknown (outbound/unsent-rows.ts) a message may stand
// there twice, which its record says. An edit does not.
//
// TCO1  a message goes to a service that is allowed when it is sent, whatever was allowed when it was made.
// TCO2  what the service refuses for now holds up that conversation; what the endpoint of tokens refuses, the whole app.

import type { TeamChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { ApiAnswer } from '../../../libs/rest/http-api.ts';
import { path } from '../../../libs/rest/path.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { GrowingPauses } from '../../events/outbox/growing-pauses.ts';
import type { Outbound, Receipt, SendContext } from '../../events/outbox/outbound.ts';
import type { Pacing } from '../../events/outbox/pacing.ts';
import { UnsentRows } from '../../events/outbox/unsent-rows.ts';
import { ClientsByCredential } from '../accounts/clients-by-credential.ts';
import { textMember } from '../payloads/payload-member.ts';
import { activityIn } from './activity.ts';
import { TeamChatApi } from './api.ts';
import { deliveryErrorOf, editErrorOf, NoTokenError } from './errors.ts';
import { conversationIn } from './event.ts';
import type { KnownConversations } from './known-conversations.ts';
import { EDITS_EVERY_MS, kindsOfPlaces } from './pacing.ts';
import { messageLimits, type TeamMessage, teamMessages } from './render-activity.ts';
import { isServiceAllowed } from './service-urls.ts';

const TYPING_LASTS_MS = 8_000;
/** It takes a second of the conversation's, which an answer that comes soon would have to wait for. */
const TYPING_AFTER_MS = 2_500;
const IN_DOUBT =
  'it may stand there twice: an earlier attempt may have arrived, and the platform cannot be asked whether it has';
/** Only with an entry of its own is it a mention; without one the platform may refuse the message. */
const MENTION = /<(?=\/?at[\s>])/gi;

type Sending = Pick<TeamMessage, 'serviceUrl' | 'conversation'> & { readonly signal: AbortSignal };

export function teamChatOutbound(
  pacing: Pacing,
  conversations: KnownConversations,
): Outbound<TeamChatTrigger, TeamMessage> {
  const pauses = new GrowingPauses();
  const unsent = new UnsentRows({ isAskedFirst: false });
  const apis = new ClientsByCredential<TeamChatTrigger, TeamChatApi>(
    ({ config }) => [config.token_url, config.app_id, config.app_password],
    ({ config }) => new TeamChatApi(config),
  );

  /** By the refusal, which many messages share when it is that of a token: it makes the pause longer once. */
  const pausesOf = new WeakMap<DeliveryError, number>();

  /** With a pause where the platform names none. */
  const putOff = (fault: DeliveryError, name: string, { retry }: TeamChatTrigger): DeliveryError => {
    if (!fault.isTooSoon || fault.retryAfterMs !== undefined) return fault;
    const retryAfterMs = pausesOf.get(fault) ?? pauses.next(name, retry);
    pausesOf.set(fault, retryAfterMs);
    return fault.with({ retryAfterMs });
  };

  const request = async (
    trigger: TeamChatTrigger,
    { serviceUrl, conversation, signal }: Sending,
    to: { readonly method: string; readonly path: string; readonly json: object },
    faultOf: (answer: ApiAnswer) => DeliveryError,
  ): Promise<Receipt> => {
    const account = trigger.config.app_id;
    if (!isServiceAllowed(serviceUrl, trigger.config))
      throw new DeliveryError('the service of the conversation is not allowed any more', { isFinal: true });
    const name = `${account}/${conversation}`;
    return pacing.run({ account, place: conversation, isOfPlace }, async () => {
      const answer = await apis
        .required(trigger)
        .request(serviceUrl, { ...to, signal })
        .catch((error: unknown) => {
          throw error instanceof NoTokenError ? putOff(error, account, trigger) : error;
        });
      pauses.end(account);
      if (!isTaken(answer)) throw putOff(faultOf(answer), name, trigger);
      pauses.end(name);
      return { id: textMember(answer.json, 'id') ?? '' };
    });
  };

  const post = (
    trigger: TeamChatTrigger,
    { repliesTo, activity, ...message }: TeamMessage,
    signal: AbortSignal,
  ) =>
    request(
      trigger,
      { ...message, signal },
      { method: 'POST', path: activitiesOf(message.conversation, repliesTo), json: activity },
      deliveryErrorOf,
    );

  return {
    typingLastsMs: TYPING_LASTS_MS,
    typingAfterMs: TYPING_AFTER_MS,
    mentions: { pattern: MENTION },
    target(_, { payload }) {
      const activity = activityIn(payload as Readonly<Record<string, unknown>>);
      if (activity === undefined) return undefined;
      const { conversation: place, id: repliesTo, serviceUrl } = activity;
      return { place, repliesTo, serviceUrl };
    },
    async destination({ config }, name) {
      const conversation = conversationIn(name, config.app_id);
      return conversation === undefined ? undefined : conversations.find(config.app_id, conversation);
    },
    render: (_, message) => teamMessages(message),
    limits: ({ config }) => ({ ...messageLimits, ...pacing.inForce(config.app_id, kindsOfPlaces) }),
    // Each conversation names a service of its own; a bot's are those of its region.
    sendsTo: ({ config }) => config.app_id,
    serviceOf: ({ serviceUrl }) => (URL.canParse(serviceUrl) ? new URL(serviceUrl).host : undefined),
    editsEveryMs: () => EDITS_EVERY_MS,
    async send(trigger, message, context: SendContext) {
      const { signal, receiptOf } = context;
      const before = message.of === undefined ? undefined : await receiptOf(message.of);
      return unsent.heed(context, async (isInDoubt) => {
        if (before === undefined)
          return { ...(await post(trigger, message, signal)), ...(isInDoubt && { note: IN_DOUBT }) };
        const { conversation, activity } = message;
        const to = { method: 'PUT', path: activitiesOf(conversation, before.id), json: activity };
        const { id } = await request(trigger, { ...message, signal }, to, editErrorOf);
        return { id: id || before.id };
      });
    },
    async typing(trigger, { place: conversation, serviceUrl }, signal) {
      if (serviceUrl === undefined) return;
      const to = { method: 'POST', path: activitiesOf(conversation), json: { type: 'typing' } };
      await request(trigger, { serviceUrl, conversation, signal }, to, deliveryErrorOf);
    },
  };
}

/** Whether it says nothing of other conversations. */
const isOfPlace = (error: DeliveryError): boolean => !(error instanceof NoTokenError);

function activitiesOf(conversation: string, activity?: string): string {
  const all = path`/v3/conversations/${conversation}/activities`;
  return activity === undefined || activity === '' ? all : all + path`/${activity}`;
}

/** A page that somebody else answers with is no message sent. */
function isTaken({ isOk, text, json }: ApiAnswer): boolean {
  return isOk && (text.trim() === '' || (typeof json === 'object' && json !== null));
}
