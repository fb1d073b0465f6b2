// Converts interactions into events to store, and stored events into inbound events.
//
// The stored payload contains no token (interaction-tokens.ts). A reply is possible until 15 minutes after
// the interaction. Approval decisions get a separate key, the control key, because the pending approval may
// block the key of the conversation. Decision results are sent as separate messages, because a reply would
// replace the message with the button.

import type { InboundEvent } from '../../events/inbound-event.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { controlKeyOf } from '../../store/key-kinds.ts';
import { decisionMembers } from '../chats/decisions.ts';
import { definedContext, readOnce, storedPayload, textMember } from '../payloads/payload-member.ts';
import {
  channelAliasesOf,
  channelOf,
  decisionOf,
  interactionOf,
  quotedMessages,
  senderOf,
} from './interaction.ts';
import { TOKEN_LASTS_MS } from './interaction-tokens.ts';

interface InteractionMeta {
  readonly triggers: readonly string[];
  readonly principal: string;
  /** Id of the application. */
  readonly account: string;
}

/** Context members, with the names that agents get. */
export const INTERACTION_ID = 'interaction.id';
export const GUILD_ID = 'guild.id';
export const SENDER_ROLES = 'sender.roles';

/**
 * Creates an event from an interaction. `triggers` are the names of the application's triggers, at least one.
 */
export function interactionEvent(
  {
    account,
    triggers,
    principal,
    trace,
    isControl,
  }: {
    readonly account: string;
    readonly triggers: readonly string[];
    readonly principal: Principal;
    readonly trace: string;
    /** True if the event is handled without regard to earlier events of the conversation. */
    readonly isControl: boolean;
  },
  payload: Readonly<Record<string, unknown>>,
): NewEvent {
  const meta: InteractionMeta = { triggers, principal: principalText(principal), account };
  const { token: _, ...rest } = payload;
  const key = `conversation/communitychat/${account}/${encodeURIComponent(channelOf(payload).toWellFormed())}`;
  return {
    id: `communitychat:${account}/${textMember(payload, 'id')}`,
    key: isControl ? controlKeyOf(key) : key,
    meta: JSON.stringify(meta),
    body: Buffer.from(JSON.stringify(rest)),
    trace,
    // The platform does not redeliver interactions; a redelivered one could not be answered.
    isOnce: true,
    parsed: rest,
  };
}

/** Parses a stored event. Throws if the payload is not an interaction. */
export function readInteractionEvent(stored: StoredEvent): InboundEvent {
  const { triggers, account } = JSON.parse(stored.meta) as InteractionMeta;
  const payload = storedPayload(stored);
  const content = contentIn(payload);
  if (content.context[INTERACTION_ID] === '') throw new Error('the payload is not an interaction');
  const decision = decisionOf(payload);
  const origin = { ...content, platform: 'communitychat', account, triggers };
  if (decision !== undefined) return { ...origin, ...decisionMembers(decision) };
  return {
    ...origin,
    isAwaited: true,
    answerBy: stored.at + TOKEN_LASTS_MS,
  };
}

/** Interaction content, independent of the triggers. */
export type InteractionContent = Omit<InboundEvent, 'platform' | 'account' | 'triggers'>;

export const contentIn = readOnce(readContent);

function readContent(payload: unknown): InteractionContent {
  const { id, kind, text, names, rest, values, customId, isSupported } = interactionOf(payload);
  const channel = channelOf(payload);
  const sender = senderOf(payload);
  return {
    names,
    text,
    isChoice: kind !== 'command',
    unsupported: isSupported ? undefined : `an interaction of ${kind}, which triggers do not support`,
    channel,
    channelAliases: channelAliasesOf(payload),
    user: sender.id,
    senderName: sender.name,
    channelName: textMember(payload, 'channel.name'),
    quoted: quotedMessages(payload),
    context: definedContext({
      [INTERACTION_ID]: id,
      'interaction.kind': kind,
      'interaction.custom_id': customId,
      [GUILD_ID]: textMember(payload, 'guild_id'),
      'channel.id': channel,
      'channel.name': textMember(payload, 'channel.name'),
      'message.id': textMember(payload, 'message.id'),
      'sender.id': sender.id,
      'sender.name': sender.name,
      'sender.username': sender.username,
      [SENDER_ROLES]: sender.roles.length === 0 ? undefined : sender.roles,
    }),
    payload,
    commandRest: rest,
    parameters: values,
  };
}
