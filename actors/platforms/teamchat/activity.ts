// An activity of the platform: what it says of itself, as far as anything here looks at it. Members that nobody knows yet are
// left alone, and what has another shape than it should is no activity, or lacks that member.

import { jsonObjectIn } from '../payloads/json-object.ts';
import { memberOf, readOnce, textMember } from '../payloads/payload-member.ts';

export interface Activity {
  readonly type: string;
  /** The same at each redelivery; other types than messages may have none. */
  readonly id: string | undefined;
  /** When it happened, as the platform writes it. */
  readonly timestamp: string | undefined;
  /** The chat product it comes through: `msteams`. */
  readonly channelId: string;
  /** The base of the API for its conversation. */
  readonly serviceUrl: string;
  /** A thread of a channel has the channel's id, `;messageid=` and that of its first message. */
  readonly conversation: string;
  /** That of the conversation, and whose data it is where that is another one. None of what other products pass on. */
  readonly tenants: readonly string[];
  readonly senderId: string | undefined;
  /** Who says it: a person or a program, ours or another. Undefined for what nobody says, as that somebody comes. */
  readonly speaker: 'person' | 'bot' | undefined;
  /** In the directory of the tenant. */
  readonly directoryId: string | undefined;
  /** Our bot, as this conversation knows it. */
  readonly botId: string | undefined;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Returns the body as a JSON object; undefined for other bodies. Verifier and receiver of a request share the result. */
export const payloadOf = readOnce<Uint8Array, Readonly<Record<string, unknown>> | undefined>(jsonObjectIn);

/** The product whose people and tenants the platform vouches for. Others hand on what a browser says of itself. */
export const WITH_DIRECTORY = 'msteams';

/** Returns the activity in a payload; undefined if the platform cannot have sent it. */
export const activityIn = readOnce(readActivity);

function readActivity(payload: Readonly<Record<string, unknown>> | undefined): Activity | undefined {
  const type = idAt(payload, 'type', MAX_NAME);
  const channelId = idAt(payload, 'channelId', MAX_NAME);
  const serviceUrl = textMember(payload, 'serviceUrl');
  const conversation = idAt(payload, 'conversation.id');
  if (payload === undefined || type === undefined || channelId === undefined) return undefined;
  if (!serviceUrl || conversation === undefined) return undefined;
  const senderId = idAt(payload, 'from.id');
  const botId = idAt(payload, 'recipient.id');
  const isOfDirectory = channelId === WITH_DIRECTORY;
  return {
    type,
    id: idAt(payload, 'id'),
    timestamp: idAt(payload, 'timestamp', MAX_NAME),
    channelId,
    serviceUrl,
    conversation,
    tenants: isOfDirectory ? tenantsIn(payload) : [],
    senderId,
    speaker: speakerOf(payload, { type, senderId, botId }),
    directoryId: isOfDirectory ? idAt(payload, 'from.aadObjectId') : undefined,
    botId,
    payload,
  };
}

/** Of one activity. */
const MAX_REACTIONS = 20;

/** As the platform names them: `like`. */
export function reactionsIn(
  { payload }: Activity,
  list: 'reactionsAdded' | 'reactionsRemoved',
): readonly string[] {
  const reactions = memberOf(payload, list);
  if (!Array.isArray(reactions)) return [];
  return reactions
    .slice(0, MAX_REACTIONS)
    .flatMap((reaction: unknown) => idAt(reaction, 'type', MAX_NAME) ?? []);
}

/** With which the ids of programs begin. */
export const PROGRAM = '28:';
/** What the platform calls programs, where ids do not say it. */
const PROGRAMS: readonly unknown[] = ['bot', 'skill'];
/** Types in which somebody says something. */
const SAID = new Set(['message', 'invoke', 'messageReaction']);

function speakerOf(
  payload: unknown,
  { type, senderId, botId }: Pick<Activity, 'type' | 'senderId' | 'botId'>,
): Activity['speaker'] {
  if (!SAID.has(type)) return undefined;
  const isProgram = senderId !== undefined && (senderId === botId || senderId.startsWith(PROGRAM));
  return isProgram || PROGRAMS.includes(textMember(payload, 'from.role')) ? 'bot' : 'person';
}

function tenantsIn(payload: unknown): readonly string[] {
  const both = ['conversation.tenantId', 'channelData.tenant.id'];
  return [...new Set(both.flatMap((path) => textMember(payload, path)?.toLowerCase() ?? []))];
}

/** The channel to which a thread belongs, or the conversation itself. */
export function channelOf(conversation: string): string {
  const thread = conversation.indexOf(';messageid=');
  return thread === -1 ? conversation : conversation.slice(0, thread);
}

/** Members that a conversation has won or lost. */
export function hasMember(activity: Activity, list: 'membersAdded' | 'membersRemoved', id: string): boolean {
  const members = memberOf(activity.payload, list);
  return Array.isArray(members) && members.some((member: unknown) => textMember(member, 'id') === id);
}

/** Longer than any that the platform makes. */
const MAX_ID = 1_000;
/** Of a kind of activities, and of a chat product. */
const MAX_NAME = 100;

/** Stands in keys and paths: control characters do not, nor what would be a way up in a path. */
function idAt(payload: unknown, path: string, longest = MAX_ID): string | undefined {
  const id = textMember(payload, path);
  const isId = id !== undefined && !/^\.{0,2}$/.test(id) && id.length <= longest && !/\p{Cc}/u.test(id);
  return isId && id.isWellFormed() ? id : undefined;
}
