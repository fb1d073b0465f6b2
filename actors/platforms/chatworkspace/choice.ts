// What was pressed, chosen or filled in below a message. The ids of our own buttons are the ids of an answer's actions; where many
// stand in a list the id is what was chosen.

import { memberOf, textMember } from '../payloads/payload-member.ts';
import { plain } from './text.ts';

/** Of what our own blocks are called, before what tells them apart. */
export const ownBlock = {
  /** A list of actions. */
  list: 'actor-gateway.list.',
  /** A button that leads to a page: pressing it is told as well, and says nothing. */
  link: 'actor-gateway.link.',
  /** Blocks of a message that was said in the channel as a whole. */
  ofChannel: 'actor-gateway.channel.',
} as const;

export interface Chosen {
  /** Of what was pressed: a command may have its name. */
  readonly id: string;
  /** What was chosen or filled in besides; empty where nothing was. */
  readonly value: string;
  readonly isOfChannel: boolean;
  /** A button, whose id is ours to give; what was chosen from a list is not. */
  readonly isButton: boolean;
}

/** The first that says something. */
export function choiceIn(payload: unknown): Chosen | undefined {
  const actions = memberOf(payload, 'actions');
  for (const action of Array.isArray(actions) ? actions : []) {
    const id = textMember(action, 'action_id');
    if (id === undefined || id === '' || id.startsWith(ownBlock.link)) continue;
    // The platform gives entities for what was written without.
    const value = plain(chosenValue(action));
    const isOfChannel = textMember(action, 'block_id')?.startsWith(ownBlock.ofChannel) === true;
    const isButton = textMember(action, 'type') === 'button';
    if (!id.startsWith(ownBlock.list)) return { id, value, isOfChannel, isButton };
    if (value !== '') return { id: value, value: '', isOfChannel, isButton: false };
  }
  return undefined;
}

/** What tells a press from others, of each thing that was pressed. */
export function pressedIn(payload: unknown): readonly string[] {
  const actions = memberOf(payload, 'actions');
  return (Array.isArray(actions) ? actions : []).flatMap((action: unknown) => [
    textMember(action, 'action_id') ?? '',
    chosenValue(action),
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

function chosenValue(action: unknown): string {
  const one = textMember(action, ...VALUES);
  if (one !== undefined) return one;
  const when = memberOf(action, 'selected_date_time');
  if (typeof when === 'number') return String(when);
  const many = LISTS.map((name) => memberOf(action, name)).find(Array.isArray) ?? [];
  const values = many.map((each: unknown) => (typeof each === 'string' ? each : textMember(each, 'value')));
  return values.filter((value) => value !== undefined).join(' ');
}
