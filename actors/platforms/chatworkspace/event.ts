// The event that a payload becomes, and how that event reads later.
//
// CE1  an utterance is one event of its app, by channel and time, whether it comes as a mention, as a message or as both.
// CE2  of two apps in one channel each has its copy, in a conversation of its own.
// CE3  nothing is kept that lets somebody write in our name: the addresses for answers, and the tokens of the payload.
// CE4  a decision about an approval stands beside its conversation, which may wait for just that.

import { commandWordOf } from '../../../machines/matching.ts';
import { controlKey } from '../../events/built-in-commands.ts';
import type { DecisionInbound } from '../../events/decision-inbound.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { onlyDecides, pressedDecision, reactedDecision } from '../chats/chat-decisions.ts';
import { knownContext, memberOf, newTrace, storedPayload } from '../payloads/payload-member.ts';
import { type PayloadKind, type Said, saidIn, teamsOf } from './payload.ts';
import { decoded, mentions, writtenText } from './text.ts';

interface WorkspaceMeta {
  /** Those of the app. */
  readonly triggers: readonly string[];
  readonly principal: string;
  readonly account: string;
  readonly kind: PayloadKind;
  /** Users that are our bot. */
  readonly bots: readonly string[];
}

export interface WorkspacePayload {
  readonly account: string;
  readonly triggers: readonly string[];
  readonly principal: Principal;
  readonly kind: PayloadKind;
  readonly payload: unknown;
  /** What it is about. */
  readonly said: Said;
  readonly bots: readonly string[];
}

export function workspaceEvent(come: WorkspacePayload): NewEvent {
  const { account, triggers, principal, kind, said, bots } = come;
  const meta: WorkspaceMeta = { triggers, principal: principalText(principal), account, kind, bots };
  const payload = withoutCredentials(come.payload);
  const place = [account, said.channel, ...(said.thread === undefined ? [] : [said.thread])];
  const key = `conversation/chatworkspace/${place.join('/')}`;
  return {
    id: `chatworkspace:${account}/${said.id}`,
    key: decisionOf(said) === undefined ? key : controlKey(key),
    meta: JSON.stringify(meta),
    body: Buffer.from(JSON.stringify(payload)),
    trace: newTrace(),
    parsed: payload,
  };
}

/** Throws for an event that is none of these. `users` are our bots where it was taken before anybody knew them. */
export function readWorkspaceEvent(stored: StoredEvent, users: readonly string[] = []): InboundEvent {
  const { triggers, account, kind, bots } = JSON.parse(stored.meta) as WorkspaceMeta;
  const payload = storedPayload(stored);
  const said = saidIn(kind, payload);
  if (said === undefined) throw new Error('the payload holds no message, no command, no choice and no mark');
  const { channel, channelName, sender } = said;
  const decision = decisionOf(said);
  return {
    platform: 'chatworkspace',
    account,
    triggers,
    ...spoken(said, payload, bots.length > 0 ? bots : users),
    channel,
    channelAliases: channelName === undefined ? undefined : [channelName],
    user: sender.id,
    payload,
    parameters: {},
    // Whoever gives a command has nobody but us to hear from, and sees nothing of it otherwise.
    isAwaited: said.what === 'command' || undefined,
    isArrival: said.what === 'arrival' || undefined,
    unsupported: unsupportedIn(said),
    ...(decision !== undefined && onlyDecides(decision)),
  };
}

/** Undefined for what decides about no approval. */
export function decisionOf(said: Said): DecisionInbound | undefined {
  if (said.what === 'reaction') return reactedDecision([said.mark], said.ts);
  return said.what === 'choice' && said.chosen.isButton ? pressedDecision(said.chosen.id) : undefined;
}

/** The app that an event came to. */
export const accountIn = ({ meta }: StoredEvent): string => (JSON.parse(meta) as WorkspaceMeta).account;

/** The event as it reads when our bots are known. */
export function withBots(event: InboundEvent, users: readonly string[]): InboundEvent {
  const said = saidOf(event.payload);
  return said === undefined ? event : { ...event, ...spoken(said, event.payload, users) };
}

type Spoken = Words & Pick<InboundEvent, 'context'>;

function spoken(said: Said, payload: unknown, bots: readonly string[]): Spoken {
  const isMention = said.what === 'message' && (said.isMention || mentions(said.text, bots));
  return { ...wordsOf(said, bots, isMention), context: contextOf(said, teamsOf(payload)[0], isMention) };
}

/** What an event is about, as its payload says it; also where an answer goes. */
export function saidOf(payload: unknown): Said | undefined {
  return saidIn(kindOf(payload), payload);
}

function kindOf(payload: unknown): PayloadKind {
  if (memberOf(payload, 'event') !== undefined) return 'events_api';
  return memberOf(payload, 'command') === undefined ? 'interactive' : 'slash_commands';
}

type Words = Pick<InboundEvent, 'names' | 'text' | 'commandRest' | 'isChoice'>;

function wordsOf(said: Said, bots: readonly string[], isMention: boolean): Words {
  if (said.what === 'message') return { names: [], text: writtenText(said.text, bots, isMention) };
  if (said.what === 'command') {
    const text = decoded(said.rest);
    return { names: [said.command], text, commandRest: text, isChoice: true };
  }
  if (said.what !== 'choice') return { names: [], text: undefined };
  const { id, value } = said.chosen;
  // An action may be a command with what stands behind it: `deploy prod`.
  const { name, rest: behind } = commandWordOf(id);
  const rest = [behind, value].filter((part) => part !== '').join(' ');
  const text = value === '' ? id : `${id} ${value}`;
  return { names: name === id ? [id] : [id, name], text, commandRest: rest, isChoice: true };
}

function unsupportedIn(said: Said): string | undefined {
  if (said.what === 'other') return said.note;
  if (said.what === 'message' && said.text.trim() === '') return 'it has files and no text';
  return undefined;
}

function contextOf(
  said: Said,
  team: string | undefined,
  isMention: boolean,
): Readonly<Record<string, unknown>> {
  const ofChoice = said.what === 'choice' ? said.chosen : undefined;
  const all = {
    'chat.event': said.what === 'message' && isMention ? 'mention' : said.what,
    'chat.team': team,
    'chat.id': said.channel,
    'chat.name': said.channelName,
    'chat.thread': said.thread,
    'chat.message': 'ts' in said ? said.ts : undefined,
    'chat.action.id': ofChoice?.id,
    'chat.action.value': ofChoice?.value || undefined,
    'chat.sender.id': said.sender.id,
    'chat.sender.name': said.sender.name,
    'chat.sender.is_bot': (said.what === 'message' && said.isByBot) || undefined,
  };
  return knownContext(all);
}

const CREDENTIALS: ReadonlySet<string> = new Set([
  'token',
  'response_url',
  'response_urls',
  'bot_access_token',
]);

function withoutCredentials(payload: unknown): unknown {
  const kept = without(payload, CREDENTIALS);
  const event = memberOf(kept, 'event');
  const thread = memberOf(event, 'assistant_thread');
  if (memberOf(thread, 'action_token') === undefined) return kept;
  const assistant_thread = without(thread, ASSISTANT_CREDENTIALS);
  return { ...(kept as object), event: { ...(event as object), assistant_thread } };
}

/** With it whoever has it acts for the person who wrote. */
const ASSISTANT_CREDENTIALS: ReadonlySet<string> = new Set(['action_token']);

function without(from: unknown, names: ReadonlySet<string>): unknown {
  if (typeof from !== 'object' || from === null) return from;
  return Object.fromEntries(Object.entries(from).filter(([name]) => !names.has(name)));
}
