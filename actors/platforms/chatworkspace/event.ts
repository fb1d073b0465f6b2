// Converts payloads into events to store, and stored events into inbound events.
//
// Each message is one event per app, identified by channel and timestamp, although the platform may send it
// twice: as a mention and as a message. Two apps in a channel get one event each, in separate conversations.
// Credentials (response URLs and tokens) are removed before the payload is stored. Approval decisions get a
// separate key, the control key, because the pending approval may block the key of the conversation.

import { commandWordOf } from '../../../machines/matching.ts';
import type { DecisionInbound } from '../../events/decision-inbound.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import type { QuotedMessage } from '../../events/message-origin.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { controlKeyOf } from '../../store/key-kinds.ts';
import { decisionMembers, decisionOfPress, decisionOfReactions } from '../chats/decisions.ts';
import { definedContext, memberOf, newTrace, storedPayload } from '../payloads/payload-member.ts';
import type { WorkspaceForm } from './modal-form.ts';
import { type PayloadContent, parsePayload, teamsOf, type WorkspacePayloadKind } from './payload.ts';
import { decode, hasMention, plainText } from './text.ts';

interface WorkspaceMeta {
  /** Names of the app's triggers. */
  readonly triggers: readonly string[];
  readonly principal: string;
  readonly account: string;
  readonly kind: WorkspacePayloadKind;
  /** User ids of the app's bots. */
  readonly bots: readonly string[];
}

export interface WorkspacePayload {
  readonly account: string;
  readonly triggers: readonly string[];
  readonly principal: Principal;
  readonly kind: WorkspacePayloadKind;
  readonly payload: unknown;
  /** Parsed content of the payload. */
  readonly content: PayloadContent;
  readonly bots: readonly string[];
}

/** Creates an event from a payload. */
export function workspaceEvent(input: WorkspacePayload): NewEvent {
  const { account, triggers, principal, kind, content, bots } = input;
  const meta: WorkspaceMeta = { triggers, principal: principalText(principal), account, kind, bots };
  const payload = withoutCredentials(input.payload);
  const parts = [account, content.channel, ...(content.thread === undefined ? [] : [content.thread])];
  const key = `conversation/chatworkspace/${parts.join('/')}`;
  return {
    id: `chatworkspace:${account}/${content.id}`,
    key: decisionOf(content) === undefined ? key : controlKeyOf(key),
    meta: JSON.stringify(meta),
    body: Buffer.from(JSON.stringify(payload)),
    trace: newTrace(),
    parsed: payload,
  };
}

/**
 * Parses a stored event. Throws if the payload has no content. `users` are the user ids of the app's bots,
 * for events stored while these were unknown.
 */
export function readWorkspaceEvent(stored: StoredEvent, users: readonly string[] = []): InboundEvent {
  const { triggers, account, kind, bots } = JSON.parse(stored.meta) as WorkspaceMeta;
  const payload = storedPayload(stored);
  const content = parsePayload(kind, payload);
  if (content === undefined)
    throw new Error('the payload contains no message, command, choice, reaction or arrival');
  const { channel, channelName, sender } = content;
  const decision = decisionOf(content);
  return {
    platform: 'chatworkspace',
    account,
    triggers,
    ...contentMembers(content, payload, bots.length > 0 ? bots : users),
    channel,
    channelAliases: channelName === undefined ? undefined : [channelName],
    user: sender.id,
    senderName: sender.name,
    channelName,
    isByBot: content.type === 'message' && content.isByBot,
    quoted: quotedIn(content),
    payload,
    parameters: content.type === 'form' ? content.form.values : {},
    // The sender of a slash command sees only the reply, so a missing answer is replaced by a notice.
    isAwaited: content.type === 'command' || undefined,
    isArrival: content.type === 'arrival' || undefined,
    ...unsupportedMembers(content),
    ...(decision !== undefined && decisionMembers(decision)),
  };
}

/** Returns the approval decision in the content, if any. */
export function decisionOf(content: PayloadContent): DecisionInbound | undefined {
  if (content.type === 'reaction') return decisionOfReactions([content.emoji], content.ts);
  return content.type === 'choice' && content.choice.isButton
    ? decisionOfPress(content.choice.id)
    : undefined;
}

/** Returns the app that received the event. */
export const accountIn = ({ meta }: StoredEvent): string => (JSON.parse(meta) as WorkspaceMeta).account;

/** Reads the event again, now that the user ids of the bots are known. */
export function withBots(event: InboundEvent, users: readonly string[]): InboundEvent {
  const content = contentOf(event.payload);
  return content === undefined ? event : { ...event, ...contentMembers(content, event.payload, users) };
}

type ContentMembers = TextMembers & Pick<InboundEvent, 'context'>;

function contentMembers(content: PayloadContent, payload: unknown, bots: readonly string[]): ContentMembers {
  const isMention = content.type === 'message' && (content.isMention || hasMention(content.text, bots));
  return {
    ...textMembersOf(content, bots, isMention),
    context: contextOf(content, teamsOf(payload)[0], isMention),
  };
}

/** Returns the stored payload's content, including the reply target. */
export function contentOf(payload: unknown): PayloadContent | undefined {
  return parsePayload(kindOf(payload), payload);
}

function kindOf(payload: unknown): WorkspacePayloadKind {
  if (memberOf(payload, 'event') !== undefined) return 'events_api';
  return memberOf(payload, 'command') === undefined ? 'interactive' : 'slash_commands';
}

type TextMembers = Pick<InboundEvent, 'names' | 'text' | 'commandRest' | 'isChoice'>;

function textMembersOf(content: PayloadContent, bots: readonly string[], isMention: boolean): TextMembers {
  if (content.type === 'message') return { names: [], text: plainText(content.text, bots, isMention) };
  if (content.type === 'command') {
    const text = decode(content.rest);
    // Like a choice, a slash command is no written message: the trigger's patterns do not apply.
    return { names: [content.command], text, commandRest: text, isChoice: true };
  }
  if (content.type === 'form') return formMembers(content.form);
  if (content.type !== 'choice') return { names: [], text: undefined };
  const { id, value } = content.choice;
  // Action ids may be commands with arguments: `deploy prod`.
  const { name, rest: args } = commandWordOf(id);
  const rest = [args, value].filter((part) => part !== '').join(' ');
  const text = value === '' ? id : `${id} ${value}`;
  return { names: name === id ? [id] : [id, name], text, commandRest: rest, isChoice: true };
}

/** Returns forwarded messages, or the message with the pressed button. */
function quotedIn(content: PayloadContent): readonly QuotedMessage[] {
  if (content.type === 'message')
    return content.forwarded.map(({ isShared, sender, text }) => ({
      relation: isShared ? 'forwarded' : 'quoted',
      sender,
      text: content.hasComment ? decode(text) : undefined,
    }));
  if (content.type !== 'choice' || content.messageText.trim() === '') return [];
  return [{ relation: 'answered', text: decode(content.messageText) }];
}

function formMembers({ name, values }: WorkspaceForm): TextMembers {
  const text = Object.entries(values)
    .map(([field, value]) => `${field}: ${value}`)
    .join('\n');
  return { names: name === '' ? [] : [name], text, commandRest: '', isChoice: true };
}

function unsupportedMembers(content: PayloadContent): Pick<InboundEvent, 'unsupported' | 'isWordless'> {
  if (content.type === 'other') return { unsupported: content.note };
  if (content.type !== 'message' || content.text.trim() !== '') return { unsupported: undefined };
  // Files in channels are usually for people.
  return {
    unsupported: 'a message with files and no text',
    isWordless: content.isDirect && !content.isByBot,
  };
}

function contextOf(
  content: PayloadContent,
  team: string | undefined,
  isMention: boolean,
): Readonly<Record<string, unknown>> {
  const choice = content.type === 'choice' ? content.choice : undefined;
  const all = {
    'chat.event': content.type === 'message' && isMention ? 'mention' : content.type,
    'chat.team': team,
    'chat.id': content.channel,
    'chat.name': content.channelName,
    'chat.thread': content.thread,
    'chat.message': 'ts' in content ? content.ts : undefined,
    'chat.action.id': choice?.id,
    'chat.action.value': choice?.value || undefined,
    'chat.sender.id': content.sender.id,
    'chat.sender.name': content.sender.name,
    'chat.sender.is_bot': (content.type === 'message' && content.isByBot) || undefined,
  };
  return definedContext(all);
}

const CREDENTIALS: ReadonlySet<string> = new Set([
  'token',
  'response_url',
  'response_urls',
  'bot_access_token',
]);

function withoutCredentials(payload: unknown): unknown {
  const stored = omit(payload, CREDENTIALS);
  const event = memberOf(stored, 'event');
  const thread = memberOf(event, 'assistant_thread');
  if (memberOf(thread, 'action_token') === undefined) return stored;
  const assistant_thread = omit(thread, ASSISTANT_CREDENTIALS);
  return { ...(stored as object), event: { ...(event as object), assistant_thread } };
}

/** This token allows actions in the sender's name. */
const ASSISTANT_CREDENTIALS: ReadonlySet<string> = new Set(['action_token']);

function omit(from: unknown, names: ReadonlySet<string>): unknown {
  if (typeof from !== 'object' || from === null) return from;
  return Object.fromEntries(Object.entries(from).filter(([name]) => !names.has(name)));
}
