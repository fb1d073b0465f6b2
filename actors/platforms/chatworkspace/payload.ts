// Parses the payloads that triggers can handle: a message, a slash command, a button press or list choice, a
// reaction, and a member's arrival in a channel. Other payloads are ignored.

import { createHash } from 'node:crypto';
import { listMember, memberOf, readOnce, textMember } from '../payloads/payload-member.ts';
import { choiceIn, pressMembers, type WorkspaceChoice } from './choice.ts';
import { type ForwardedMessage, forwardedMessages, messageMarkup } from './message-markup.ts';
import { formIn, type WorkspaceForm } from './modal-form.ts';

const payloadKinds = ['events_api', 'slash_commands', 'interactive'] as const;

/** Payload kind, with the names of socket frames. Webhooks deliver the same payloads. */
export type WorkspacePayloadKind = (typeof payloadKinds)[number];

export const isPayloadKind = (value: string): value is WorkspacePayloadKind =>
  (payloadKinds as readonly string[]).includes(value);

export interface WorkspaceSender {
  readonly id: string;
  readonly name: string | undefined;
}

interface ContentBase {
  /** Unique within the app, and equal in each redelivery. */
  readonly id: string;
  readonly channel: string;
  /** Undefined if the payload does not contain the name. */
  readonly channelName: string | undefined;
  /** Thread of the conversation; undefined for the channel itself. */
  readonly thread: string | undefined;
  /** Thread for replies; undefined for the channel itself. */
  readonly answerThread: string | undefined;
  readonly sender: WorkspaceSender;
}

export interface PlainMessageContent extends ContentBase {
  readonly type: 'message';
  readonly ts: string;
  /** True if the platform sent the message as a mention of the bot. */
  readonly isMention: boolean;
  /** True if a program wrote the message. */
  readonly isByBot: boolean;
  /** Id of the program, if the payload contains it. */
  readonly botId: string | undefined;
  readonly appId: string | undefined;
  /** Text in the platform's markup, or else the forwarded text. Blank for files. */
  readonly text: string;
  /** False if only forwarded messages have text. */
  readonly hasComment: boolean;
  readonly forwarded: readonly ForwardedMessage[];
  readonly isDirect: boolean;
}

export interface CommandContent extends ContentBase {
  readonly type: 'command';
  readonly command: string;
  readonly rest: string;
}

export interface ChoiceContent extends ContentBase {
  readonly type: 'choice';
  /** Timestamp of the message with the button or list. */
  readonly ts: string | undefined;
  /** Text of that message in the platform's markup; may be blank. */
  readonly messageText: string;
  readonly choice: WorkspaceChoice;
}

/** A submitted modal form. `channel` is the sender's id, so answers are direct messages. */
export interface FormContent extends ContentBase {
  readonly type: 'form';
  readonly form: WorkspaceForm;
}

/** A reaction was added to a message. */
export interface ReactionContent extends ContentBase {
  readonly type: 'reaction';
  /** Timestamp of the message with the reaction. */
  readonly ts: string;
  /** The platform's emoji name: `+1`. */
  readonly emoji: string;
  /** User who wrote the message; undefined if the payload does not contain it. */
  readonly author: string | undefined;
}

/** A member joined a channel, possibly the bot. */
export interface ArrivalContent extends ContentBase {
  readonly type: 'arrival';
}

/** An interaction that triggers do not support. */
export interface OtherContent extends ContentBase {
  readonly type: 'other';
  readonly note: string;
}

export type PayloadContent =
  | PlainMessageContent
  | CommandContent
  | ChoiceContent
  | FormContent
  | ReactionContent
  | ArrivalContent
  | OtherContent;

/** Subtypes of messages with new text. Other subtypes are edits, deletions, joins and topics. */
const MESSAGE_SUBTYPES: ReadonlySet<string | undefined> = new Set([
  undefined,
  'file_share',
  'thread_broadcast',
  'me_message',
  'bot_message',
]);

const readers: Readonly<Record<WorkspacePayloadKind, (payload: unknown) => PayloadContent | undefined>> = {
  slash_commands: readOnce(commandIn),
  interactive: readOnce(interactionIn),
  events_api: readOnce(eventIn),
};

/** Returns the payload's content; undefined if triggers do not handle it. */
export function parsePayload(kind: WorkspacePayloadKind, payload: unknown): PayloadContent | undefined {
  return readers[kind](payload);
}

function eventIn(payload: unknown): PayloadContent | undefined {
  const event = memberOf(payload, 'event');
  const type = textMember(event, 'type');
  if (type === 'app_mention' || type === 'message') return messageIn(event, type === 'app_mention');
  if (type === 'reaction_added') return reactionIn(event);
  return type === 'member_joined_channel' ? arrivalIn(event) : undefined;
}

/** Returns the workspaces and organizations in the payload. */
export function teamsOf(payload: unknown): readonly string[] {
  const authorizations = memberOf(payload, 'authorizations');
  const list = Array.isArray(authorizations) ? authorizations : [];
  const all = [payload, ...list].flatMap((each) =>
    ['team_id', 'context_team_id', 'enterprise_id', 'team.id', 'enterprise.id'].map((path) =>
      textMember(each, path),
    ),
  );
  return all.filter((each) => each !== undefined);
}

/** Returns the user ids that the payload names as bots of the app; most events contain them. */
export function botsIn(payload: unknown): readonly string[] {
  const authorizations = memberOf(payload, 'authorizations');
  if (!Array.isArray(authorizations)) return [];
  return authorizations.flatMap((each) =>
    memberOf(each, 'is_bot') === true ? (textMember(each, 'user_id') ?? []) : [],
  );
}

/** Returns true for a direct conversation, where a reply starts no thread. */
const isDirect = (channel: string, type?: string) => type === 'im' || channel.startsWith('D');

function messageIn(event: unknown, isMention: boolean): PlainMessageContent | undefined {
  const subtype = textMember(event, 'subtype');
  const channel = idIn(event, 'channel');
  const ts = idIn(event, 'ts');
  const botId = idIn(event, 'bot_id');
  const user = idIn(event, 'user') ?? botId;
  if (!MESSAGE_SUBTYPES.has(subtype) || memberOf(event, 'hidden') === true) return undefined;
  if (channel === undefined || ts === undefined || user === undefined) return undefined;
  const isByBot = botId !== undefined || subtype === 'bot_message' || user === 'USLACKBOT';
  const comment = messageMarkup(event, isByBot);
  const forwarded = forwardedMessages(event);
  const hasComment = comment.trim() !== '';
  const text = hasComment ? comment : forwarded.map((each) => each.text).join('\n\n');
  if (text.trim() === '' && !hasContent(event)) return undefined;
  const isDirectMessage = isDirect(channel, textMember(event, 'channel_type'));
  const thread = idIn(event, 'thread_ts') ?? (isDirectMessage ? undefined : ts);
  return {
    type: 'message',
    id: `${channel}/${ts}`,
    channel,
    channelName: undefined,
    thread,
    answerThread: thread,
    sender: { id: user, name: textMember(event, 'user_profile.real_name', 'username') },
    ts,
    isMention,
    isByBot,
    botId,
    appId: idIn(event, 'app_id') ?? idIn(event, 'bot_profile.app_id'),
    text,
    hasComment,
    forwarded,
    isDirect: isDirectMessage,
  };
}

/** Returns true if the message has files, blocks or attachments. */
function hasContent(event: unknown): boolean {
  return ['files', 'blocks', 'attachments'].some((name) => listMember(event, name).length > 0);
}

function reactionIn(event: unknown): ReactionContent | undefined {
  const channel = idIn(event, 'item.channel');
  const ts = idIn(event, 'item.ts');
  const user = idIn(event, 'user');
  const emoji = textMember(event, 'reaction') ?? '';
  const at = idIn(event, 'event_ts');
  if (textMember(event, 'item.type') !== 'message' || !/^[^\s/]{1,200}$/.test(emoji)) return undefined;
  if (channel === undefined || ts === undefined || user === undefined || at === undefined) return undefined;
  return {
    type: 'reaction',
    // Adding a reaction again after its removal is a new event.
    id: `${channel}/${ts}/reaction/${user}/${emoji}/${at}`,
    channel,
    channelName: undefined,
    thread: undefined,
    answerThread: undefined,
    sender: { id: user, name: undefined },
    ts,
    emoji,
    author: idIn(event, 'item_user'),
  };
}

function arrivalIn(event: unknown): ArrivalContent | undefined {
  const channel = idIn(event, 'channel');
  const user = idIn(event, 'user');
  const ts = idIn(event, 'event_ts');
  if (channel === undefined || user === undefined || ts === undefined) return undefined;
  const location = { channel, channelName: undefined, thread: undefined, answerThread: undefined };
  return {
    type: 'arrival',
    id: `${channel}/arrival/${ts}`,
    ...location,
    sender: { id: user, name: undefined },
  };
}

/** Texts that the platform sends as the name of channels without a name. */
const PLACEHOLDER_NAMES: ReadonlySet<string | undefined> = new Set(['directmessage', 'privategroup']);

function commandIn(payload: unknown): CommandContent | undefined {
  const channel = idIn(payload, 'channel_id');
  const user = idIn(payload, 'user_id');
  const command = textMember(payload, 'command')?.trim();
  if (channel === undefined || user === undefined || command === undefined || command === '')
    return undefined;
  const name = textMember(payload, 'channel_name');
  const thread = idIn(payload, 'thread_ts');
  return {
    type: 'command',
    id: `command/${digestOf(payload)}`,
    channel,
    channelName: PLACEHOLDER_NAMES.has(name) ? undefined : name,
    thread,
    answerThread: thread,
    sender: { id: user, name: textMember(payload, 'user_name') },
    command,
    rest: textMember(payload, 'text')?.trim() ?? '',
  };
}

function interactionIn(payload: unknown): PayloadContent | undefined {
  const user = idIn(payload, 'user.id');
  const channel = idIn(payload, 'channel.id') ?? idIn(payload, 'container.channel_id');
  if (user === undefined) return undefined;
  const type = textMember(payload, 'type') ?? '';
  const name = textMember(payload, 'channel.name');
  const base = {
    channel: channel ?? user,
    channelName: PLACEHOLDER_NAMES.has(name) ? undefined : name,
    sender: { id: user, name: textMember(payload, 'user.name', 'user.username') },
  };
  const note = UNSUPPORTED_NOTES[type];
  const id = digestOf(payload);
  const form = type === 'view_submission' ? formIn(payload) : undefined;
  const outside = { id: `${type}/${id}`, ...base, thread: undefined, answerThread: undefined };
  if (form !== undefined) return { type: 'form', ...outside, form };
  if (note !== undefined) return { type: 'other', ...outside, note };
  if (type !== 'block_actions') return undefined;
  const choice = choiceIn(payload);
  if (channel === undefined || choice === undefined) return undefined;
  const ts = idIn(payload, 'container.message_ts') ?? idIn(payload, 'message.ts');
  const parentThread = idIn(payload, 'container.thread_ts') ?? idIn(payload, 'message.thread_ts');
  const thread = parentThread ?? (isDirect(channel) ? undefined : ts);
  // A press on a message outside threads continues the conversation of the channel.
  const isOfChannel = parentThread === undefined && choice.isOfChannel;
  return {
    type: 'choice',
    id: `choice/${id}`,
    ...base,
    thread: isOfChannel ? undefined : thread,
    answerThread: thread,
    ts,
    messageText: messageMarkup(memberOf(payload, 'message'), true),
    choice,
  };
}

const UNSUPPORTED_NOTES: Readonly<Record<string, string>> = {
  shortcut: 'a shortcut, which triggers do not support',
  message_action: 'a shortcut, which triggers do not support',
  view_submission: 'a modal form without values, which triggers do not support',
};

/**
 * Returns a digest of the payload, equal in each redelivery. Includes the content of commands and presses,
 * because several presses can have the same `trigger_id`, the platform's id of an interaction.
 */
function digestOf(payload: unknown): string {
  const triggerId = idIn(payload, 'trigger_id');
  const members =
    triggerId === undefined ? payload : [triggerId, ...commandMembers(payload), ...pressMembers(payload)];
  return createHash('sha256').update(JSON.stringify(members)).digest('hex').slice(0, 32);
}

const commandMembers = (payload: unknown) =>
  ['command', 'text', 'channel_id', 'user_id'].map((member) => textMember(payload, member) ?? '');

/**
 * Returns the id at the path. Undefined if the text is longer than 200 characters or contains other
 * characters than the platform's ids, such as the slash that separates parts of event ids.
 */
function idIn(value: unknown, path: string): string | undefined {
  const id = textMember(value, path);
  return id !== undefined && /^[\w.:-]{1,200}$/.test(id) ? id : undefined;
}
