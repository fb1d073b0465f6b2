// The event that an activity becomes, and how that event reads later.
//
// TCE1  an event is known by its app, its conversation and its activity: ids of activities are unique in a conversation only. What
//       happens to a message may come under the message's id, whoever does it and how often: who did it and when tell it apart.
// TCE2  what nobody here can answer is an event all the same, ignored with a note: the platform may send what nobody expects.
// TCE3  a decision about an approval stands beside its conversation, which may wait for just that. Only the people of a directory
//       decide: whom another product names nobody vouches for.

import { commandWordOf } from '../../../machines/matching.ts';
import { controlKey } from '../../events/built-in-commands.ts';
import type { DecisionInbound } from '../../events/decision-inbound.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { partsOfConversation } from '../../events/outbox/conversation-name.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { onlyDecides, pressedDecision, reactedDecision } from '../chats/chat-decisions.ts';
import { knownContext, memberOf, storedPayload, textMember } from '../payloads/payload-member.ts';
import {
  type Activity,
  activityIn,
  channelOf,
  hasMember,
  PROGRAM,
  reactionsIn,
  WITH_DIRECTORY,
} from './activity.ts';
import { type Choice, invokedIn, pressedIn, submittedIn } from './activity-choice.ts';
import { wordsOf } from './activity-text.ts';

export const PLATFORM = 'teamchat';
export const REACTION = 'messageReaction';
/** The one invoke that can be answered. */
export const CARD_ACTION = 'adaptiveCard/action';

interface ActivityMeta {
  readonly triggers: readonly string[];
  readonly principal: string;
  readonly app: string;
  /** It is what `decisionOf` says of it, and nothing else. */
  readonly isDecision?: true;
}

/** `triggers`: those that may take it, at least one, all of one app. */
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
  const place = [app, conversation].map(inKey).join('/');
  const id = `${PLATFORM}:${[place, ...nameOf(activity).map(inKey)].join('/')}`;
  const key = `conversation/${PLATFORM}/${place}`;
  return {
    id: isDecision ? `${id}/decision` : id,
    key: isDecision ? controlKey(key) : key,
    meta: JSON.stringify(meta),
    body,
    trace,
    parsed: payload,
  };
}

/** What a person decides by it about an approval, as far as it says that; undefined for anything else. */
export function decisionOf(activity: Activity): DecisionInbound | undefined {
  const { type, id, channelId, speaker, botId, payload } = activity;
  if (channelId !== WITH_DIRECTORY || speaker !== 'person') return undefined;
  if (type === REACTION) {
    const message = textMember(payload, 'replyToId') ?? id;
    return message === undefined
      ? undefined
      : reactedDecision(reactionsIn(activity, 'reactionsAdded'), message);
  }
  const isPress = type === 'invoke' || (type === 'message' && wordsOf(payload, botId) === undefined);
  return isPress ? pressedDecision(pressedIn(payload.value) ?? '') : undefined;
}

/** Types whose activities come under the id of the message that they are about. */
const ABOUT_A_MESSAGE = new Set([REACTION, 'messageUpdate', 'messageDelete']);

/** In its conversation; the same at each redelivery. */
function nameOf({ type, id, senderId = '', timestamp = '' }: Activity & { readonly id: string }) {
  if (type === 'message') return [id];
  return ABOUT_A_MESSAGE.has(type) ? [id, type, senderId, timestamp] : [id, type];
}

/** The id of a conversation of the app, out of the name by which handlers know it; undefined for any other name. */
export function conversationIn(name: string, app: string): string | undefined {
  const account = { platform: PLATFORM, account: inKey(app) };
  const [conversation, ...rest] = partsOfConversation(account, name) ?? [];
  return conversation === undefined || rest.length > 0
    ? undefined
    : conversation.replace(/%2F/g, '/').replace(/%25/g, '%');
}

/** Throws for an event that is none of these. */
export function readActivityEvent(stored: StoredEvent): InboundEvent {
  const { triggers, app, isDecision } = JSON.parse(stored.meta) as ActivityMeta;
  const payload = storedPayload(stored) as Activity['payload'];
  const activity = activityIn(payload);
  if (activity === undefined) throw new Error('the payload is no activity');
  const { conversation, senderId, directoryId } = activity;
  const channel = channelOf(conversation);
  const decision = isDecision === true ? decisionOf(activity) : undefined;
  return {
    platform: PLATFORM,
    account: app,
    triggers,
    ...(decision === undefined ? saidBy(activity, app) : onlyDecides(decision)),
    channel,
    channelAliases: channel === conversation ? undefined : [conversation],
    user: senderId,
    userAliases: directoryId === undefined ? undefined : [directoryId],
    context: contextOf(activity),
    payload,
  };
}

type Said = Pick<
  InboundEvent,
  'names' | 'text' | 'isChoice' | 'isAwaited' | 'commandRest' | 'parameters' | 'unsupported' | 'isArrival'
>;

const NOTHING_SAID: Said = { names: [], text: undefined, parameters: {} };

function saidBy(activity: Activity, app: string): Said {
  const { type, payload, senderId, speaker } = activity;
  const ofApp = `${PROGRAM}${app}`;
  const { botId = ofApp } = activity;
  if (type === 'conversationUpdate')
    return hasMember(activity, 'membersAdded', botId)
      ? { ...NOTHING_SAID, isArrival: true }
      : ignored('a conversationUpdate that does not bring the bot in');
  if (type !== 'message' && type !== 'invoke' && type !== REACTION)
    return ignored(`an activity of type ${type.slice(0, 64)}`);
  if (speaker === 'bot' && (senderId === botId || senderId === ofApp))
    return ignored('written by our own bot');
  if (type === REACTION) return reacted(activity);
  if (type === 'invoke') {
    const choice = chosen(invokedIn(payload.value));
    if (choice === undefined) return ignored('an invoke without an action');
    // Whoever pressed it reads that it was received. A program reads nothing.
    return speaker === 'bot' ? choice : { ...choice, isAwaited: true };
  }
  const text = wordsOf(payload, activity.botId);
  if (text !== undefined) return { names: [], text, parameters: {} };
  return chosen(submittedIn(payload.value)) ?? ignored('a message without words');
}

/** What it says is no command. */
function reacted(activity: Activity): Said {
  const text = [
    ...reactionsIn(activity, 'reactionsAdded').map((reaction) => `added ${reaction}`),
    ...reactionsIn(activity, 'reactionsRemoved').map((reaction) => `removed ${reaction}`),
  ].join(', ');
  if (text === '') return ignored(`a ${REACTION} that names no reaction`);
  return { names: [REACTION], text, isChoice: true, commandRest: '', parameters: {} };
}

function ignored(unsupported: string): Said {
  return { ...NOTHING_SAID, unsupported };
}

/** Its name may be that of a command, and what stands behind it in the name goes to the command's parameters. */
function chosen(choice: Choice | undefined): Said | undefined {
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
  return knownContext(all);
}

/** Parts of keys and ids are told apart by slashes. */
function inKey(part: string): string {
  return part.replace(/%/g, '%25').replace(/\//g, '%2F');
}
