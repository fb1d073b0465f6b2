// How answers go out: an answer to an interaction under its token, in the place of "thinking …", and whatever answers nothing as a
// message of the bot to a channel.
//
// CCO1  to put something in the place of an answer may be repeated. Of a further part nobody can ask whether it has arrived, so
//      after an attempt whose outcome is unknown it may stand there twice, and its record says so; a message to a channel does not,
//      as long as the platform knows its nonce.
// CCO2  an answer may overtake the acknowledgement of its interaction: the platform knows no such webhook then, for a moment.
// CCO3  answers to one interaction leave in order; those to another one wait for none of them, but for the pace of their channel.

import { createHash } from 'node:crypto';
import type { CommunityChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import { partsOfConversation } from '../../events/outbox/conversation-name.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { Outbound, Receipt, SendContext } from '../../events/outbox/outbound.ts';
import type { OutboundTarget } from '../../events/outbox/outbound-message.ts';
import type { Pacing } from '../../events/outbox/pacing.ts';
import { UnsentRows } from '../../events/outbox/unsent-rows.ts';
import type { CommunityChatApi } from './api.ts';
import { MAX_BUTTONS } from './buttons.ts';
import { UNKNOWN_MESSAGE, UNKNOWN_WEBHOOK } from './errors.ts';
import { INTERACTION_ID } from './event.ts';
import type { InteractionTokens } from './interaction-tokens.ts';
import { CHANNEL_LIMIT, EDITS_EVERY_MS } from './pacing.ts';
import { type CommunityMessage, communityMessages, TEXT } from './render-message.ts';

/** Between attempts at what has overtaken its acknowledgement. */
const OVERTAKEN_MS = [500, 2_000] as const;
const CHANNEL_ID = /^\d{1,20}$/;
const NONCE = 25;
/** The platform says no more than that it looks back "a few minutes". */
const NONCE_LASTS_MS = 60_000;
const IN_DOUBT =
  'it may stand there twice: what became of an earlier attempt is not known, and the platform cannot be asked';

export function communityChatOutbound(
  tokens: InteractionTokens,
  apiOf: (trigger: CommunityChatTrigger) => CommunityChatApi,
  pacing: Pacing,
): Outbound<CommunityChatTrigger, CommunityMessage> {
  const unsent = new UnsentRows({ isAskedFirst: false });
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
      const [channel = '', ...rest] = partsOfConversation(account, conversation) ?? [];
      return CHANNEL_ID.test(channel) && rest.length === 0 ? { place: channel } : undefined;
    },
    render: (_, message) => communityMessages(message),
    mentions: 'rendered',
    limits(trigger) {
      const { rates, held } = pacing.inForce(trigger.config.application_id, { channel: CHANNEL_LIMIT });
      return {
        text: { most: TEXT.limit, unit: TEXT.unit },
        buttons: MAX_BUTTONS,
        rates,
        held: [...held, ...apiOf(trigger).held()],
      };
    },
    sendsTo: ({ config }) => config.api_root,
    editsEveryMs: () => EDITS_EVERY_MS,
    isPostInPlace: true,
    async send(trigger, message, context) {
      const account = trigger.config.application_id;
      const api = apiOf(trigger);
      const paced = (request: () => Promise<string>) =>
        pacing.run({ account, place: message.channel, isOfPlace: () => true }, request);
      if (message.interaction === undefined)
        return unsent.heed(context, (isInDoubt) => posted(api, message, context, { isInDoubt, paced }));
      const token = await tokens.find(account, message.interaction);
      if (token === undefined) throw timeIsOver();
      const { body, isFirst } = message;
      const { signal } = context;
      const overtaken = (error: unknown) => perhapsOvertaken(error, context);
      if (isFirst) return { id: await api.answer(token, body, signal).catch(overtaken) };
      return unsent.heed(context, async (isInDoubt) => {
        const id = await paced(() => api.followUp(token, body, signal)).catch(overtaken);
        return { id, note: isInDoubt ? IN_DOUBT : undefined };
      });
    },
  };
}

async function posted(
  api: CommunityChatApi,
  { channel, of, body }: CommunityMessage,
  { signal, rowId, madeAt, receiptOf }: SendContext,
  {
    isInDoubt,
    paced,
  }: {
    readonly isInDoubt: boolean;
    readonly paced: (request: () => Promise<string>) => Promise<string>;
  },
): Promise<Receipt> {
  const before = of === undefined ? undefined : await receiptOf(of);
  // One that was taken with an answer that nobody could read has no id.
  if (before !== undefined && before.id !== '')
    return { id: await api.edit(channel, before.id, body, signal).catch(perhapsGone) };
  const nonce = createHash('sha256').update(rowId).digest('hex').slice(0, NONCE);
  const id = await paced(() => api.post(channel, { ...body, nonce, enforce_nonce: true }, signal));
  const ageMs = Math.abs(Date.now() - madeAt);
  return { id, note: isInDoubt && ageMs > NONCE_LASTS_MS ? IN_DOUBT : undefined };
}

function perhapsGone(error: unknown): never {
  if (!(error instanceof DeliveryError) || error.platformCode !== UNKNOWN_MESSAGE) throw error;
  throw error.with({ isTargetGone: true });
}

/** A few times, soon after the row was made; it is deferred then, and no attempt is counted. */
function perhapsOvertaken(error: unknown, { madeAt }: SendContext): never {
  if (!(error instanceof DeliveryError) || error.platformCode !== UNKNOWN_WEBHOOK) throw error;
  const ageMs = Date.now() - madeAt;
  const [first, second] = OVERTAKEN_MS;
  const retryAfterMs = ageMs < first ? first : second;
  if (ageMs < 0 || ageMs >= first + second) throw error;
  throw error.with({ isFinal: false, isTooSoon: true, retryAfterMs });
}

function timeIsOver(): DeliveryError {
  return new DeliveryError(
    'the 15 minutes in which the platform takes an answer to an interaction are over; this one came later',
    { isFinal: true },
  );
}
