// Sends messages to the platform: replies with the interaction token, and other messages as the bot.
//
// Replies may consist of several parts. The first part replaces the deferred reply and can be repeated.
// Further parts may be duplicated after unknown outcomes; their record mentions the possible duplicate.
// Channel messages have a nonce, which prevents duplicates as long as the platform remembers it. A reply that
// arrives before the acknowledgement is retried shortly afterwards. Replies to one interaction are sent in
// order; the channel's rate limit also delays other messages.

import { createHash } from 'node:crypto';
import type { CommunityChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import { conversationParts } from '../../events/outbox/conversation-name.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { OutboundTarget } from '../../events/outbox/message.ts';
import type { Outbound, SendContext, SendReceipt } from '../../events/outbox/outbound.ts';
import type { Pacing } from '../../events/outbox/pacing.ts';
import { UnsentRows } from '../../events/outbox/unsent-rows.ts';
import type { CommunityChatApi } from './api.ts';
import { MAX_BUTTONS } from './buttons.ts';
import { UNKNOWN_MESSAGE, UNKNOWN_WEBHOOK } from './errors.ts';
import { INTERACTION_ID } from './event.ts';
import type { InteractionTokens } from './interaction-tokens.ts';
import { CHANNEL_LIMIT, EDITS_EVERY_MS } from './pacing.ts';
import { type CommunityMessage, communityMessages, TEXT } from './render-message.ts';

/** Retry delays for a reply that arrived before the acknowledgement. */
const EARLY_RETRY_MS = [500, 2_000] as const;
const CHANNEL_ID = /^\d{1,20}$/;
/** Maximum nonce length. */
const MAX_NONCE = 25;
/** Time for which the platform certainly remembers a nonce; it documents only "a few minutes". */
const NONCE_LASTS_MS = 60_000;
const DUPLICATE_NOTE =
  'possible duplicate: the outcome of an earlier attempt is unknown, and the platform cannot be queried';

export function communityChatOutbound(
  tokens: InteractionTokens,
  apiOf: (trigger: CommunityChatTrigger) => CommunityChatApi,
  pacing: Pacing,
): Outbound<CommunityChatTrigger, CommunityMessage> {
  const unsent = new UnsentRows({ isQueriedFirst: false });
  return {
    target(_, { channel, context, decision }): OutboundTarget | undefined {
      if (decision !== undefined) return channel === undefined ? undefined : { place: channel };
      const interaction = context[INTERACTION_ID];
      return channel === undefined || typeof interaction !== 'string'
        ? undefined
        : { place: channel, repliesTo: interaction, orderedWith: `${channel}/${interaction}` };
    },
    async destination({ config }, conversation) {
      const account = { platform: 'communitychat', account: config.application_id };
      const [channel = '', ...rest] = conversationParts(account, conversation) ?? [];
      return CHANNEL_ID.test(channel) && rest.length === 0 ? { place: channel } : undefined;
    },
    render: (_, message) => communityMessages(message),
    mentions: 'rendered',
    limits(trigger) {
      const { rates, held } = pacing.currentLimits(trigger.config.application_id, { channel: CHANNEL_LIMIT });
      return {
        text: { most: TEXT.limit, unit: TEXT.unit },
        buttons: MAX_BUTTONS,
        rates,
        held: [...held, ...apiOf(trigger).exceededLimits()],
      };
    },
    addressOf: ({ config }) => config.api_root,
    editIntervalMs: () => EDITS_EVERY_MS,
    replacesPreview: true,
    async send(trigger, message, context) {
      const account = trigger.config.application_id;
      const api = apiOf(trigger);
      const withPacing = (request: () => Promise<string>) =>
        pacing.run({ account, destination: message.channel, isOfDestination: () => true }, request);
      if (message.interaction === undefined)
        return unsent.send(context, (mayBePosted) =>
          post(api, message, context, { mayBePosted, withPacing }),
        );
      const token = await tokens.find(account, message.interaction);
      if (token === undefined) throw expiredError();
      const { body, isFirst } = message;
      const { signal } = context;
      const onEarly = (error: unknown) => rethrowEarly(error, context);
      if (isFirst) return { id: await api.reply(token, body, signal).catch(onEarly) };
      return unsent.send(context, async (mayBePosted) => {
        const id = await withPacing(() => api.followUp(token, body, signal)).catch(onEarly);
        return { id, note: mayBePosted ? DUPLICATE_NOTE : undefined };
      });
    },
  };
}

async function post(
  api: CommunityChatApi,
  { channel, of: editedRowId, body }: CommunityMessage,
  { signal, rowId, createdAt, receiptOf }: SendContext,
  {
    mayBePosted,
    withPacing,
  }: {
    readonly mayBePosted: boolean;
    readonly withPacing: (request: () => Promise<string>) => Promise<string>;
  },
): Promise<SendReceipt> {
  const existing = editedRowId === undefined ? undefined : await receiptOf(editedRowId);
  // The id is empty if the response was unreadable.
  if (existing !== undefined && existing.id !== '')
    return { id: await api.edit(channel, existing.id, body, signal).catch(rethrowMissing) };
  const nonce = createHash('sha256').update(rowId).digest('hex').slice(0, MAX_NONCE);
  const id = await withPacing(() => api.post(channel, { ...body, nonce, enforce_nonce: true }, signal));
  const ageMs = Math.abs(Date.now() - createdAt);
  return { id, note: mayBePosted && ageMs > NONCE_LASTS_MS ? DUPLICATE_NOTE : undefined };
}

function rethrowMissing(error: unknown): never {
  if (!(error instanceof DeliveryError) || error.platformCode !== UNKNOWN_MESSAGE) throw error;
  throw error.with({ isTargetMissing: true });
}

/**
 * Defers a reply that arrived before the acknowledgement, without counting an attempt. Rethrows other errors.
 */
function rethrowEarly(error: unknown, { createdAt }: SendContext): never {
  if (!(error instanceof DeliveryError) || error.platformCode !== UNKNOWN_WEBHOOK) throw error;
  const ageMs = Date.now() - createdAt;
  const [first, second] = EARLY_RETRY_MS;
  const retryAfterMs = ageMs < first ? first : second;
  if (ageMs < 0 || ageMs >= first + second) throw error;
  throw error.with({ isFinal: false, isRateLimited: true, retryAfterMs });
}

function expiredError(): DeliveryError {
  return new DeliveryError(
    'the interaction is older than 15 minutes; the platform no longer accepts a reply',
    { isFinal: true },
  );
}
