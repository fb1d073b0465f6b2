// Parses activities, the platform's objects for messages, reactions, invokes and other events. Only the
// required members are read. A member with an invalid type is treated as missing.

import { jsonObjectIn } from '../payloads/json-object.ts';
import { memberOf, readOnce, textMember } from '../payloads/payload-member.ts';

export interface Activity {
  readonly type: string;
  /** Activity id, equal in each redelivery. Only messages always have one. */
  readonly id: string | undefined;
  /** Time of the activity, as the platform writes it. */
  readonly timestamp: string | undefined;
  /** Chat product of the activity: `msteams`. */
  readonly channelId: string;
  /** Base URL of the API for the conversation. */
  readonly serviceUrl: string;
  /** Conversation id. A thread of a channel has the channel id, `;messageid=`, and the first message id. */
  readonly conversation: string;
  /** Tenants of the conversation and the channel data. Empty for products without verified tenants. */
  readonly tenants: readonly string[];
  readonly senderId: string | undefined;
  /**
   * Kind of the sender, for messages, invokes and reactions; undefined for types that have no sender, such as
   * arrivals of members.
   */
  readonly speaker: 'person' | 'bot' | undefined;
  /** Id of the sender in the tenant's directory. */
  readonly directoryId: string | undefined;
  /** Id of the bot in the conversation. */
  readonly botId: string | undefined;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Parses the body as a JSON object, once per request; undefined if invalid. */
export const payloadOf = readOnce<Uint8Array, Readonly<Record<string, unknown>> | undefined>(jsonObjectIn);

/** The product with verified users and tenants. In other products the browser states the identity. */
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

/** Maximum number of reactions per activity. */
const MAX_REACTIONS = 20;

/** Returns the names of the reactions, as the platform writes them: `like`. */
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

/** Prefix of the ids of programs. */
export const PROGRAM = '28:';
/** Roles of programs. */
const PROGRAMS: readonly unknown[] = ['bot', 'skill'];
/** Types with a sender. */
const TYPES_WITH_SENDER = new Set(['message', 'invoke', 'messageReaction']);

function speakerOf(
  payload: unknown,
  { type, senderId, botId }: Pick<Activity, 'type' | 'senderId' | 'botId'>,
): Activity['speaker'] {
  if (!TYPES_WITH_SENDER.has(type)) return undefined;
  const isProgram = senderId !== undefined && (senderId === botId || senderId.startsWith(PROGRAM));
  return isProgram || PROGRAMS.includes(textMember(payload, 'from.role')) ? 'bot' : 'person';
}

function tenantsIn(payload: unknown): readonly string[] {
  const both = ['conversation.tenantId', 'channelData.tenant.id'];
  return [...new Set(both.flatMap((path) => textMember(payload, path)?.toLowerCase() ?? []))];
}

/** Returns a thread's channel, or the conversation itself. */
export function channelOf(conversation: string): string {
  const thread = conversation.indexOf(';messageid=');
  return thread === -1 ? conversation : conversation.slice(0, thread);
}

/** Returns true if the conversation gained or lost the member. */
export function hasMember(activity: Activity, list: 'membersAdded' | 'membersRemoved', id: string): boolean {
  const members = memberOf(activity.payload, list);
  return Array.isArray(members) && members.some((member: unknown) => textMember(member, 'id') === id);
}

/** Maximum id length, longer than ids of the platform. */
const MAX_ID = 1_000;
/** Maximum length of names of types and products. */
const MAX_NAME = 100;

/**
 * Returns an id; undefined if it is not usable in keys and paths: ids contain no control characters, and are
 * not `.` or `..`.
 */
function idAt(payload: unknown, path: string, longest = MAX_ID): string | undefined {
  const id = textMember(payload, path);
  const isId = id !== undefined && !/^\.{0,2}$/.test(id) && id.length <= longest && !/\p{Cc}/u.test(id);
  return isId && id.isWellFormed() ? id : undefined;
}
