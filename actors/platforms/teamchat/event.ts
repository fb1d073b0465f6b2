// Converts activities into events to store, and stored events into inbound events.
//
// An event id consists of app, conversation and activity id. Message changes may reuse the id, so type,
// sender and time are added. Unsupported activities become events that are ignored with a note, because the
// platform may send any type. Approval decisions get a separate key, the control key, because the pending
// approval may block the key of the conversation. Only users in a directory may decide; other products do not
// verify users.

import { commandWordOf } from '../../../machines/matching.ts';
import type { DecisionInbound } from '../../events/decision-inbound.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { conversationParts } from '../../events/outbox/conversation-name.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { controlKeyOf } from '../../store/key-kinds.ts';
import { decisionMembers, decisionOfPress, decisionOfReactions } from '../chats/decisions.ts';
import { definedContext, memberOf, storedPayload, textMember } from '../payloads/payload-member.ts';
import {
  type Activity,
  activityIn,
  channelOf,
  hasMember,
  PROGRAM,
  reactionsIn,
  WITH_DIRECTORY,
} from './activity.ts';
import { actionIdIn, type CardChoice, invokedChoice, submittedChoice } from './activity-choice.ts';
import { mentionsBot, textOf } from './activity-text.ts';
import { cardsText, htmlFormText } from './attachment-text.ts';
import { quotedMessages } from './quoted-messages.ts';

export const PLATFORM = 'teamchat';
export const REACTION = 'messageReaction';
/** Name of the only supported invoke. */
export const CARD_ACTION = 'adaptiveCard/action';

interface ActivityMeta {
  readonly triggers: readonly string[];
  readonly principal: string;
  readonly app: string;
  /** True if the event is only an approval decision (`decisionOf`), so its content is not read. */
  readonly isDecision?: true;
}

/**
 * Creates an event from an activity. `triggers` are the names of the triggers that may accept the event, at
 * least one.
 */
export function activityEvent(
  activity: Activity & { readonly id: string },
  {
    triggers,
    app,
    principal,
    trace,
    isDecision,
  }: {
    readonly triggers: readonly string[];
    readonly app: string;
    readonly principal: Principal;
    readonly trace: string;
    readonly isDecision: boolean;
  },
  body: Buffer,
): NewEvent {
  const { conversation, payload } = activity;
  const meta: ActivityMeta = {
    triggers,
    principal: principalText(principal),
    app,
    ...(isDecision && { isDecision }),
  };
  const parts = [app, conversation].map(escapeKeyPart).join('/');
  const id = `${PLATFORM}:${[parts, ...idPartsOf(activity).map(escapeKeyPart)].join('/')}`;
  const key = `conversation/${PLATFORM}/${parts}`;
  return {
    id: isDecision ? `${id}/decision` : id,
    key: isDecision ? controlKeyOf(key) : key,
    meta: JSON.stringify(meta),
    body,
    trace,
    parsed: payload,
  };
}

/** Returns the approval decision in the activity, if any. */
export function decisionOf(activity: Activity): DecisionInbound | undefined {
  const { type, id, channelId, speaker, botId, payload } = activity;
  if (channelId !== WITH_DIRECTORY || speaker !== 'person') return undefined;
  if (type === REACTION) {
    const message = textMember(payload, 'replyToId') ?? id;
    return message === undefined
      ? undefined
      : decisionOfReactions(reactionsIn(activity, 'reactionsAdded'), message);
  }
  const isPress = type === 'invoke' || (type === 'message' && textOf(payload, botId) === undefined);
  return isPress ? decisionOfPress(actionIdIn(payload.value) ?? '') : undefined;
}

/** Types of activities that reuse the id of the affected message. */
const ABOUT_A_MESSAGE = new Set([REACTION, 'messageUpdate', 'messageDelete']);

/** Returns the parts of the event id that are unique in the conversation and equal in each redelivery. */
function idPartsOf({ type, id, senderId = '', timestamp = '' }: Activity & { readonly id: string }) {
  if (type === 'message') return [id];
  return ABOUT_A_MESSAGE.has(type) ? [id, type, senderId, timestamp] : [id, type];
}

/**
 * Returns the conversation id from a conversation name that handlers use; undefined if the name is of another
 * app.
 */
export function conversationIn(name: string, app: string): string | undefined {
  const account = { platform: PLATFORM, account: escapeKeyPart(app) };
  const [conversation, ...rest] = conversationParts(account, name) ?? [];
  return conversation === undefined || rest.length > 0
    ? undefined
    : conversation.replace(/%2F/g, '/').replace(/%25/g, '%');
}

/** Parses a stored event. Throws if the payload is not an activity. */
export function readActivityEvent(stored: StoredEvent): InboundEvent {
  const { triggers, app, isDecision } = JSON.parse(stored.meta) as ActivityMeta;
  const payload = storedPayload(stored) as Activity['payload'];
  const activity = activityIn(payload);
  if (activity === undefined) throw new Error('the payload is not an activity');
  const { conversation, senderId, directoryId } = activity;
  const channel = channelOf(conversation);
  const decision = isDecision === true ? decisionOf(activity) : undefined;
  return {
    platform: PLATFORM,
    account: app,
    triggers,
    ...(decision === undefined ? contentOf(activity, app) : decisionMembers(decision)),
    channel,
    channelAliases: channel === conversation ? undefined : [conversation],
    user: senderId,
    userAliases: directoryId === undefined ? undefined : [directoryId],
    senderName: textMember(payload, 'from.name'),
    channelName: textMember(payload, 'conversation.name', 'channelData.channel.name'),
    isByBot: activity.speaker === 'bot',
    quoted: quotedMessages(payload),
    context: contextOf(activity),
    payload,
  };
}

type ActivityContent = Pick<
  InboundEvent,
  | 'names'
  | 'text'
  | 'isChoice'
  | 'isAwaited'
  | 'commandRest'
  | 'parameters'
  | 'unsupported'
  | 'isWordless'
  | 'isArrival'
>;

const NO_CONTENT: ActivityContent = { names: [], text: undefined, parameters: {} };

function contentOf(activity: Activity, app: string): ActivityContent {
  const { type, payload, senderId, speaker } = activity;
  const appBotId = `${PROGRAM}${app}`;
  const { botId = appBotId } = activity;
  if (type === 'conversationUpdate')
    return hasMember(activity, 'membersAdded', botId)
      ? { ...NO_CONTENT, isArrival: true }
      : unsupportedContent('a conversationUpdate that does not bring the bot in');
  if (type !== 'message' && type !== 'invoke' && type !== REACTION)
    return unsupportedContent(`an activity of type ${type.slice(0, 64)}`);
  if (speaker === 'bot' && (senderId === botId || senderId === appBotId))
    return unsupportedContent('written by the bot itself');
  if (type === REACTION) return reactionContent(activity);
  if (type === 'invoke') {
    const choice = choiceContent(invokedChoice(payload.value));
    if (choice === undefined) return unsupportedContent('an invoke without an action');
    // A person sees an acknowledgement of the invoke and expects a reply; a program does not.
    return speaker === 'bot' ? choice : { ...choice, isAwaited: true };
  }
  return messageContent(activity);
}

function messageContent(activity: Activity): ActivityContent {
  const { payload, botId, speaker } = activity;
  const written = textOf(payload, botId);
  const choice = written === undefined ? choiceContent(submittedChoice(payload.value)) : undefined;
  if (choice !== undefined) return choice;
  const text = [written ?? htmlFormText(payload), cardsText(payload)]
    .filter((part) => part !== '')
    .join('\n');
  if (text !== '') return { names: [], text, parameters: {} };
  const isAddressed = isPersonal(payload) || mentionsBot(payload, botId);
  return {
    ...unsupportedContent('a message without words'),
    isWordless: isAddressed && speaker === 'person',
  };
}

/** Returns true for direct chats with the bot. */
function isPersonal(payload: Activity['payload']): boolean {
  const kind = textMember(payload, 'conversation.conversationType');
  return kind === undefined ? memberOf(payload, 'conversation.isGroup') !== true : kind === 'personal';
}

/** Reaction text is never a command. */
function reactionContent(activity: Activity): ActivityContent {
  const text = [
    ...reactionsIn(activity, 'reactionsAdded').map((reaction) => `added ${reaction}`),
    ...reactionsIn(activity, 'reactionsRemoved').map((reaction) => `removed ${reaction}`),
  ].join(', ');
  if (text === '') return unsupportedContent(`a ${REACTION} that names no reaction`);
  return { names: [REACTION], text, isChoice: true, commandRest: '', parameters: {} };
}

function unsupportedContent(unsupported: string): ActivityContent {
  return { ...NO_CONTENT, unsupported };
}

/** The name of the action may be a command with arguments. */
function choiceContent(choice: CardChoice | undefined): ActivityContent | undefined {
  if (choice === undefined) return undefined;
  const { text, parameters } = choice;
  const { name, rest } = commandWordOf(text);
  return { names: [name], text, isChoice: true, commandRest: rest, parameters };
}

function contextOf(activity: Activity): Readonly<Record<string, unknown>> {
  const { type, id, conversation, tenants, senderId, speaker, directoryId, payload } = activity;
  const reactions = (list: Parameters<typeof reactionsIn>[1]) =>
    (type === REACTION && reactionsIn(activity, list).join(' ')) || undefined;
  const channel = channelOf(conversation);
  const all = {
    'chat.event': type,
    'chat.id': channel,
    'chat.thread':
      channel === conversation ? undefined : conversation.slice(channel.length + ';messageid='.length),
    'chat.type': textMember(payload, 'conversation.conversationType'),
    'chat.message': id,
    'chat.replies_to': textMember(payload, 'replyToId'),
    'chat.sender.id': senderId,
    'chat.sender.name': textMember(payload, 'from.name'),
    'chat.sender.is_bot': speaker === 'bot' || undefined,
    'chat.sender.directory_id': directoryId,
    'chat.team': textMember(payload, 'channelData.team.id', 'channelData.teamsTeamId'),
    'chat.tenant': tenants[0],
    'chat.locale': textMember(payload, 'locale'),
    'reaction.added': reactions('reactionsAdded'),
    'reaction.removed': reactions('reactionsRemoved'),
    'action.type': textMember(memberOf(payload, 'value'), 'action.type'),
    'action.id': textMember(memberOf(payload, 'value'), 'action.id'),
    'action.verb': textMember(memberOf(payload, 'value'), 'action.verb'),
  };
  return definedContext(all);
}

/** Escapes slashes, which separate the parts of keys and ids. */
function escapeKeyPart(part: string): string {
  return part.replace(/%/g, '%25').replace(/\//g, '%2F');
}
