// Sends messages to the platform: resolves targets, renders messages and calls the API. A message replies to
// an activity, or is posted to a known conversation.
//
// The platform has no idempotency key. After unknown outcomes a message may be duplicated, and its record
// mentions the possible duplicate; an edit can be repeated safely. The service URL must be allowed when the
// message is sent. A service's rate limit delays the conversation; the token endpoint's rate limit delays the
// whole app.

import type { TeamChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { ApiResponse } from '../../../libs/rest/http-api.ts';
import { path } from '../../../libs/rest/path.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { GrowingPauses } from '../../events/outbox/growing-pauses.ts';
import type { Outbound, SendContext, SendReceipt } from '../../events/outbox/outbound.ts';
import type { Pacing } from '../../events/outbox/pacing.ts';
import { UnsentRows } from '../../events/outbox/unsent-rows.ts';
import { ClientsByCredential } from '../accounts/clients-by-credential.ts';
import { textMember } from '../payloads/payload-member.ts';
import { activityIn } from './activity.ts';
import { TeamChatApi } from './api.ts';
import { deliveryErrorOf, editErrorOf, NoTokenError } from './errors.ts';
import { conversationIn } from './event.ts';
import { EDITS_EVERY_MS, limitsByName } from './pacing.ts';
import { messageLimits, type TeamMessage, teamMessages } from './render-message.ts';
import { isServiceAllowed } from './service-urls.ts';
import type { StoredConversations } from './stored-conversations.ts';

const TYPING_LASTS_MS = 8_000;
/**
 * Delay of the first indicator. It counts as a message of the conversation and would delay an early reply.
 */
const TYPING_AFTER_MS = 2_500;
const DUPLICATE_NOTE =
  'possible duplicate: the outcome of an earlier attempt is unknown, and the platform cannot be queried';
/** Matches mention tags. A mention needs an entity; the platform may refuse a message that lacks it. */
const MENTION = /<(?=\/?at[\s>])/gi;

type Sending = Pick<TeamMessage, 'serviceUrl' | 'conversation'> & { readonly signal: AbortSignal };

export function teamChatOutbound(
  pacing: Pacing,
  conversations: StoredConversations,
): Outbound<TeamChatTrigger, TeamMessage> {
  const pauses = new GrowingPauses();
  const unsent = new UnsentRows({ isQueriedFirst: false });
  const apis = new ClientsByCredential<TeamChatTrigger, TeamChatApi>(
    ({ config }) => [config.token_url, config.app_id, config.app_password],
    ({ config }) => new TeamChatApi(config),
  );

  /**
   * Pauses by error. Several messages can share the error of one token request, which must increase the pause
   * only once.
   */
  const pausesOf = new WeakMap<DeliveryError, number>();

  /** Adds a pause to a rate limit if the platform requires none. */
  const withPause = (fault: DeliveryError, name: string, { retry }: TeamChatTrigger): DeliveryError => {
    if (!fault.isRateLimited || fault.retryAfterMs !== undefined) return fault;
    const retryAfterMs = pausesOf.get(fault) ?? pauses.next(name, retry);
    pausesOf.set(fault, retryAfterMs);
    return fault.with({ retryAfterMs });
  };

  const request = async (
    trigger: TeamChatTrigger,
    { serviceUrl, conversation, signal }: Sending,
    call: { readonly method: string; readonly path: string; readonly json: object },
    errorOf: (response: ApiResponse) => DeliveryError,
  ): Promise<SendReceipt> => {
    const account = trigger.config.app_id;
    if (!isServiceAllowed(serviceUrl, trigger.config))
      throw new DeliveryError('the service URL of the conversation is no longer allowed', { isFinal: true });
    const name = `${account}/${conversation}`;
    return pacing.run({ account, destination: conversation, isOfDestination }, async () => {
      const response = await apis
        .required(trigger)
        .request(serviceUrl, { ...call, signal })
        .catch((error: unknown) => {
          throw error instanceof NoTokenError ? withPause(error, account, trigger) : error;
        });
      pauses.end(account);
      if (!isSuccess(response)) throw withPause(errorOf(response), name, trigger);
      pauses.end(name);
      return { id: textMember(response.json, 'id') ?? '' };
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
    typingDurationMs: TYPING_LASTS_MS,
    typingDelayMs: TYPING_AFTER_MS,
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
    rendersFormats: true,
    render: (_, message) => teamMessages(message),
    limits: ({ config }) => ({ ...messageLimits, ...pacing.currentLimits(config.app_id, limitsByName) }),
    // Outbound messages have no common address: the service URL depends on the conversation.
    addressOf: ({ config }) => config.app_id,
    hostOf: ({ serviceUrl }) => (URL.canParse(serviceUrl) ? new URL(serviceUrl).host : undefined),
    editIntervalMs: () => EDITS_EVERY_MS,
    async send(trigger, message, context: SendContext) {
      const { signal, receiptOf } = context;
      const existing = message.of === undefined ? undefined : await receiptOf(message.of);
      return unsent.send(context, async (mayBePosted) => {
        if (existing === undefined)
          return { ...(await post(trigger, message, signal)), ...(mayBePosted && { note: DUPLICATE_NOTE }) };
        const { conversation, activity } = message;
        const call = { method: 'PUT', path: activitiesOf(conversation, existing.id), json: activity };
        const { id } = await request(trigger, { ...message, signal }, call, editErrorOf);
        return { id: id || existing.id };
      });
    },
    async showTyping(trigger, { place: conversation, serviceUrl }, signal) {
      if (serviceUrl === undefined) return;
      const call = { method: 'POST', path: activitiesOf(conversation), json: { type: 'typing' } };
      await request(trigger, { serviceUrl, conversation, signal }, call, deliveryErrorOf);
    },
  };
}

/** Returns true if the error affects only one conversation. */
const isOfDestination = (error: DeliveryError): boolean => !(error instanceof NoTokenError);

function activitiesOf(conversation: string, activity?: string): string {
  const all = path`/v3/conversations/${conversation}/activities`;
  return activity === undefined || activity === '' ? all : all + path`/${activity}`;
}

/** Returns false for a proxy's HTML page, which means that no message was sent. */
function isSuccess({ isOk, text, json }: ApiResponse): boolean {
  return isOk && (text.trim() === '' || (typeof json === 'object' && json !== null));
}
