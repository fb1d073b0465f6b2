// The event that an interaction becomes, and how that event reads later.
//
// CCE1  what is stored has no token: the credential of an interaction is kept apart (interaction-tokens.ts).
// CCE2  an answer is of use until 15 minutes after the interaction came: the platform takes none after that.
// CCE3  a decision about an approval stands beside its conversation, which may wait for just that. What is said of it is no answer to the
//       press: that would take the place of the message with the button.

import { controlKey } from '../../events/built-in-commands.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { onlyDecides } from '../chats/chat-decisions.ts';
import { knownContext, readOnce, storedPayload, textMember } from '../payloads/payload-member.ts';
import { channelAliasesOf, channelOf, decisionOf, interactionOf, senderOf } from './interaction.ts';
import { TOKEN_LASTS_MS } from './interaction-tokens.ts';

interface InteractionMeta {
  readonly triggers: readonly string[];
  readonly principal: string;
  /** The application's id. */
  readonly account: string;
}

/** Names with dots, as an agent is told them. */
export const INTERACTION_ID = 'interaction.id';
export const GUILD_ID = 'guild.id';
export const SENDER_ROLES = 'sender.roles';

/** `triggers` are those of the application, at least one. */
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
    /** It passes what its conversation is at. */
    readonly isControl: boolean;
  },
  payload: Readonly<Record<string, unknown>>,
): NewEvent {
  const meta: InteractionMeta = { triggers, principal: principalText(principal), account };
  const { token: _, ...rest } = payload;
  const key = `conversation/communitychat/${account}/${encodeURIComponent(channelOf(payload).toWellFormed())}`;
  return {
    id: `communitychat:${account}/${textMember(payload, 'id')}`,
    key: isControl ? controlKey(key) : key,
    meta: JSON.stringify(meta),
    body: Buffer.from(JSON.stringify(rest)),
    trace,
    // The platform asks once, and what is sent again under a token that has been used answers nobody.
    isOnce: true,
    parsed: rest,
  };
}

/** Throws for an event that is none of these. */
export function readInteractionEvent(stored: StoredEvent): InboundEvent {
  const { triggers, account } = JSON.parse(stored.meta) as InteractionMeta;
  const payload = storedPayload(stored);
  const said = saidIn(payload);
  if (said.context[INTERACTION_ID] === '') throw new Error('the payload is no interaction');
  const decision = decisionOf(payload);
  const from = { ...said, platform: 'communitychat', account, triggers };
  if (decision !== undefined) return { ...from, ...onlyDecides(decision) };
  return {
    ...from,
    isAwaited: true,
    answerBy: stored.at + TOKEN_LASTS_MS,
  };
}

/** What an interaction says, whoever takes it. */
export type Said = Omit<InboundEvent, 'platform' | 'account' | 'triggers'>;

export const saidIn = readOnce(readSaid);

function readSaid(payload: unknown): Said {
  const { id, kind, text, names, rest, values, customId, isKnown } = interactionOf(payload);
  const channel = channelOf(payload);
  const sender = senderOf(payload);
  return {
    names,
    text,
    isChoice: kind !== 'command',
    unsupported: isKnown ? undefined : `an interaction of ${kind}, which nothing here can read`,
    channel,
    channelAliases: channelAliasesOf(payload),
    user: sender.id,
    context: knownContext({
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
