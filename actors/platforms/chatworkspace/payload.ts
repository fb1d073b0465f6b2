// What a payload of the platform is about, as far as it can be anything for an agent: a message with words, a slash command, a
// pressed button or a choice, a mark on a message; and that our bot was brought into a channel. Everything else is none of these.

import { createHash } from 'node:crypto';
import { memberOf, readOnce, textMember } from '../payloads/payload-member.ts';
import { type Chosen, choiceIn, pressedIn } from './choice.ts';

const payloadKinds = ['events_api', 'slash_commands', 'interactive'] as const;

/** As frames of a socket call them; what comes by HTTP has the same payloads. */
export type PayloadKind = (typeof payloadKinds)[number];

export const isPayloadKind = (word: string): word is PayloadKind =>
  (payloadKinds as readonly string[]).includes(word);

export interface Sender {
  readonly id: string;
  readonly name: string | undefined;
}

interface SaidSomewhere {
  /** Tells it from all others of the app; the same each time it comes. */
  readonly id: string;
  readonly channel: string;
  /** As far as the payload says it. */
  readonly channelName: string | undefined;
  /** Of the conversation; undefined for what is said in the channel as a whole. */
  readonly thread: string | undefined;
  /** Where an answer goes. */
  readonly answerThread: string | undefined;
  readonly sender: Sender;
}

export interface SaidMessage extends SaidSomewhere {
  readonly what: 'message';
  readonly ts: string;
  /** It came because the bot is mentioned in it. */
  readonly isMention: boolean;
  /** A program wrote it. */
  readonly isByBot: boolean;
  /** Of the program, as far as the platform says it. */
  readonly botId: string | undefined;
  readonly appId: string | undefined;
  readonly text: string;
  readonly hasFiles: boolean;
}

export interface SaidCommand extends SaidSomewhere {
  readonly what: 'command';
  readonly command: string;
  readonly rest: string;
}

export interface SaidChoice extends SaidSomewhere {
  readonly what: 'choice';
  /** The message that it stands in. */
  readonly ts: string | undefined;
  readonly chosen: Chosen;
}

/** Somebody has put a mark on a message. */
export interface SaidReaction extends SaidSomewhere {
  readonly what: 'reaction';
  /** The message. */
  readonly ts: string;
  /** As the platform names it: `+1`. */
  readonly mark: string;
  /** Who wrote the message, as far as the platform says it. */
  readonly author: string | undefined;
}

/** Somebody was brought into a channel: whether that is our bot its identity says. */
export interface SaidArrival extends SaidSomewhere {
  readonly what: 'arrival';
}

/** Somebody wants something that has no form here. */
export interface SaidOther extends SaidSomewhere {
  readonly what: 'other';
  readonly note: string;
}

export type Said = SaidMessage | SaidCommand | SaidChoice | SaidReaction | SaidArrival | SaidOther;

/** Others (edits, deletions, joins, topics) are not what somebody says. */
const SPOKEN_SUBTYPES: ReadonlySet<string | undefined> = new Set([
  undefined,
  'file_share',
  'thread_broadcast',
  'me_message',
  'bot_message',
]);

const readers: Readonly<Record<PayloadKind, (payload: unknown) => Said | undefined>> = {
  slash_commands: readOnce(commandIn),
  interactive: readOnce(interactionIn),
  events_api: readOnce(eventIn),
};

/** Returns the content of a payload; undefined for payloads that no agent takes. */
export function saidIn(kind: PayloadKind, payload: unknown): Said | undefined {
  return readers[kind](payload);
}

function eventIn(payload: unknown): Said | undefined {
  const event = memberOf(payload, 'event');
  const type = textMember(event, 'type');
  if (type === 'app_mention' || type === 'message') return messageIn(event, type === 'app_mention');
  if (type === 'reaction_added') return reactionIn(event);
  return type === 'member_joined_channel' ? arrivalIn(event) : undefined;
}

/** Workspaces and organizations in whose name it came; none where it does not say. */
export function teamsOf(payload: unknown): readonly string[] {
  const authorizations = memberOf(payload, 'authorizations');
  const given = Array.isArray(authorizations) ? authorizations : [];
  const all = [payload, ...given].flatMap((each) =>
    ['team_id', 'context_team_id', 'enterprise_id', 'team.id', 'enterprise.id'].map((path) =>
      textMember(each, path),
    ),
  );
  return all.filter((each) => each !== undefined);
}

/** Users that the platform names as our bot, which it does with most events. */
export function authorizedBots(payload: unknown): readonly string[] {
  const authorizations = memberOf(payload, 'authorizations');
  if (!Array.isArray(authorizations)) return [];
  return authorizations.flatMap((each) =>
    memberOf(each, 'is_bot') === true ? (textMember(each, 'user_id') ?? []) : [],
  );
}

/** Conversations of two have no threads of their own. */
const isDirect = (channel: string, type?: string) => type === 'im' || channel.startsWith('D');

function messageIn(event: unknown, isMention: boolean): SaidMessage | undefined {
  const subtype = textMember(event, 'subtype');
  const channel = idIn(event, 'channel');
  const ts = idIn(event, 'ts');
  const botId = idIn(event, 'bot_id');
  const user = idIn(event, 'user') ?? botId;
  if (!SPOKEN_SUBTYPES.has(subtype) || memberOf(event, 'hidden') === true) return undefined;
  if (channel === undefined || ts === undefined || user === undefined) return undefined;
  const text = textMember(event, 'text') ?? '';
  const files = memberOf(event, 'files');
  const hasFiles = Array.isArray(files) && files.length > 0;
  if (text.trim() === '' && !hasFiles) return undefined;
  const isOutside = isDirect(channel, textMember(event, 'channel_type'));
  const thread = idIn(event, 'thread_ts') ?? (isOutside ? undefined : ts);
  return {
    what: 'message',
    id: `${channel}/${ts}`,
    channel,
    channelName: undefined,
    thread,
    answerThread: thread,
    sender: { id: user, name: textMember(event, 'user_profile.real_name', 'username') },
    ts,
    isMention,
    isByBot: botId !== undefined || subtype === 'bot_message' || user === 'USLACKBOT',
    botId,
    appId: idIn(event, 'app_id') ?? idIn(event, 'bot_profile.app_id'),
    text,
    hasFiles,
  };
}

function reactionIn(event: unknown): SaidReaction | undefined {
  const channel = idIn(event, 'item.channel');
  const ts = idIn(event, 'item.ts');
  const user = idIn(event, 'user');
  const mark = textMember(event, 'reaction') ?? '';
  const at = idIn(event, 'event_ts');
  if (textMember(event, 'item.type') !== 'message' || !/^[^\s/]{1,200}$/.test(mark)) return undefined;
  if (channel === undefined || ts === undefined || user === undefined || at === undefined) return undefined;
  return {
    what: 'reaction',
    // A mark that was taken away and put there again is another one.
    id: `${channel}/${ts}/reaction/${user}/${mark}/${at}`,
    channel,
    channelName: undefined,
    thread: undefined,
    answerThread: undefined,
    sender: { id: user, name: undefined },
    ts,
    mark,
    author: idIn(event, 'item_user'),
  };
}

function arrivalIn(event: unknown): SaidArrival | undefined {
  const channel = idIn(event, 'channel');
  const user = idIn(event, 'user');
  const ts = idIn(event, 'event_ts');
  if (channel === undefined || user === undefined || ts === undefined) return undefined;
  const place = { channel, channelName: undefined, thread: undefined, answerThread: undefined };
  return { what: 'arrival', id: `${channel}/arrival/${ts}`, ...place, sender: { id: user, name: undefined } };
}

/** What the platform writes in place of names of its own. */
const NO_NAMES: ReadonlySet<string | undefined> = new Set(['directmessage', 'privategroup']);

function commandIn(payload: unknown): SaidCommand | undefined {
  const channel = idIn(payload, 'channel_id');
  const user = idIn(payload, 'user_id');
  const command = textMember(payload, 'command')?.trim();
  if (channel === undefined || user === undefined || command === undefined || command === '')
    return undefined;
  const name = textMember(payload, 'channel_name');
  const thread = idIn(payload, 'thread_ts');
  return {
    what: 'command',
    id: `command/${digestOf(payload)}`,
    channel,
    channelName: NO_NAMES.has(name) ? undefined : name,
    thread,
    answerThread: thread,
    sender: { id: user, name: textMember(payload, 'user_name') },
    command,
    rest: textMember(payload, 'text')?.trim() ?? '',
  };
}

function interactionIn(payload: unknown): Said | undefined {
  const user = idIn(payload, 'user.id');
  const channel = idIn(payload, 'channel.id') ?? idIn(payload, 'container.channel_id');
  if (user === undefined) return undefined;
  const type = textMember(payload, 'type') ?? '';
  const name = textMember(payload, 'channel.name');
  const said = {
    channel: channel ?? user,
    channelName: NO_NAMES.has(name) ? undefined : name,
    sender: { id: user, name: textMember(payload, 'user.name', 'user.username') },
  };
  const note = UNSUPPORTED[type];
  const id = digestOf(payload);
  if (note !== undefined)
    return { what: 'other', id: `${type}/${id}`, ...said, thread: undefined, answerThread: undefined, note };
  if (type !== 'block_actions') return undefined;
  const chosen = choiceIn(payload);
  if (channel === undefined || chosen === undefined) return undefined;
  const ts = idIn(payload, 'container.message_ts') ?? idIn(payload, 'message.ts');
  const above = idIn(payload, 'container.thread_ts') ?? idIn(payload, 'message.thread_ts');
  const thread = above ?? (isDirect(channel) ? undefined : ts);
  // A message of ours in the channel as a whole goes on there.
  const isOfChannel = above === undefined && chosen.isOfChannel;
  return {
    what: 'choice',
    id: `choice/${id}`,
    ...said,
    thread: isOfChannel ? undefined : thread,
    answerThread: thread,
    ts,
    chosen,
  };
}

const UNSUPPORTED: Readonly<Record<string, string>> = {
  shortcut: 'a shortcut is nothing that an agent is asked for',
  message_action: 'a shortcut is nothing that an agent is asked for',
  view_submission: 'a form in a window of its own is nothing that an agent is asked for',
};

/** Of one command or press, the same each time it comes. Several may have one `trigger_id`: what they say tells them apart. */
function digestOf(payload: unknown): string {
  const trigger = idIn(payload, 'trigger_id');
  const said = trigger === undefined ? payload : [trigger, ...spokenBy(payload), ...pressedIn(payload)];
  return createHash('sha256').update(JSON.stringify(said)).digest('hex').slice(0, 32);
}

const spokenBy = (payload: unknown) =>
  ['command', 'text', 'channel_id', 'user_id'].map((member) => textMember(payload, member) ?? '');

/** An id is short, and no path. */
function idIn(value: unknown, path: string): string | undefined {
  const id = textMember(value, path);
  return id !== undefined && /^[\w.:-]{1,200}$/.test(id) ? id : undefined;
}
