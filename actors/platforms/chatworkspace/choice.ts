// Reads button presses, list choices and inputs below a message. The platform reports the element's id and
// the chosen value. If the gateway posted the element, one of the two identifies the chosen action: the
// element's id for a button, the value for a list.

import { memberOf, textMember } from '../payloads/payload-member.ts';
import { decodeEntities } from './text.ts';

/** Id prefixes that the gateway uses for its own elements and blocks. */
export const ownBlock = {
  /** A list of actions. */
  list: 'actor-gateway.list.',
  /** A link button. The platform also reports presses of links, which are ignored. */
  link: 'actor-gateway.link.',
  /** A block in a message outside threads: a press continues the conversation of the channel. */
  ofChannel: 'actor-gateway.channel.',
} as const;

export interface WorkspaceChoice {
  /** Id of the pressed element, which may be a command with arguments. */
  readonly id: string;
  /** Chosen or entered value; may be empty. */
  readonly value: string;
  /** True if the pressed message is outside threads (`ownBlock.ofChannel`). */
  readonly isOfChannel: boolean;
  /** True for a button, whose id the gateway has set. */
  readonly isButton: boolean;
}

/** Returns the first action with content. */
export function choiceIn(payload: unknown): WorkspaceChoice | undefined {
  const actions = memberOf(payload, 'actions');
  for (const action of Array.isArray(actions) ? actions : []) {
    const id = textMember(action, 'action_id');
    if (id === undefined || id === '' || id.startsWith(ownBlock.link)) continue;
    // The platform escapes values, even if sent unescaped.
    const value = decodeEntities(valueIn(action));
    const isOfChannel = textMember(action, 'block_id')?.startsWith(ownBlock.ofChannel) === true;
    const isButton = textMember(action, 'type') === 'button';
    if (!id.startsWith(ownBlock.list)) return { id, value, isOfChannel, isButton };
    if (value !== '') return { id: value, value: '', isOfChannel, isButton: false };
  }
  return undefined;
}

/** Returns the payload members that distinguish one press from another. */
export function pressMembers(payload: unknown): readonly string[] {
  const actions = memberOf(payload, 'actions');
  return (Array.isArray(actions) ? actions : []).flatMap((action: unknown) => [
    textMember(action, 'action_id') ?? '',
    valueIn(action),
    textMember(action, 'action_ts') ?? '',
  ]);
}

const VALUES = [
  'value',
  'selected_option.value',
  'selected_user',
  'selected_channel',
  'selected_conversation',
  'selected_date',
  'selected_time',
];
const LISTS = ['selected_options', 'selected_users', 'selected_channels', 'selected_conversations'];

/** Returns the element's chosen or entered value; '' if missing. */
export function valueIn(action: unknown): string {
  const single = textMember(action, ...VALUES);
  if (single !== undefined) return single;
  const time = memberOf(action, 'selected_date_time');
  if (typeof time === 'number') return String(time);
  const list = LISTS.map((name) => memberOf(action, name)).find(Array.isArray) ?? [];
  const values = list.map((each: unknown) => (typeof each === 'string' ? each : textMember(each, 'value')));
  return values.filter((value) => value !== undefined).join(' ');
}
