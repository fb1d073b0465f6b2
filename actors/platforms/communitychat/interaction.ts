// Parses interactions: commands, button presses, choices and submitted forms. Missing or invalid members are
// omitted.

import type { DecisionInbound } from '../../events/decision-inbound.ts';
import type { MessageParty, QuotedMessage } from '../../events/message-origin.ts';
import { decisionOfPress } from '../chats/decisions.ts';
import { listMember, memberOf, textMember } from '../payloads/payload-member.ts';
import { textOfMessage } from './message-text.ts';

/** Interaction types of the platform. */
export const PING = 1;
export const AUTOCOMPLETE = 4;
const COMMAND = 2;
export const COMPONENT = 3;
const MODAL = 5;
/** Values of `data.type` for user and message menu commands. */
const MENU_KINDS: Readonly<Record<number, string>> = { 2: 'user command', 3: 'message command' };
/** Value of `data.component_type`. */
const BUTTON = 2;
/** Component types: rows, and labels with one field. */
const ROW = 1;
const LABEL = 18;
/** Thread channel types. */
const THREADS: readonly unknown[] = [10, 11, 12];
/**
 * Channel types with names that administrators of the server set. Threads and groups are named by members.
 */
const NAMED_CHANNELS: readonly unknown[] = [0, 2, 5, 13, 15, 16];
/** Option name. If a command has only this option, its value is the text. */
const TEXT = 'text';
/** Depth of options: a subcommand may be in a group. */
const MAX_DEPTH = 3;
/** Id prefix of the gateway's selects. A chosen value is an action id. */
export const SELECT = 'actions:';

export interface Interaction {
  readonly id: string;
  readonly kind: string;
  /**
   * Text for the handler: the command with its values, the pressed or chosen element, or the submitted
   * fields.
   */
  readonly text: string;
  /** Names of the command. */
  readonly names: readonly string[];
  /** Arguments after the command name, for interactions without fields. */
  readonly rest: string;
  /** Values by name. */
  readonly values: Readonly<Record<string, string>>;
  /** Pressed component or submitted form. */
  readonly customId: string | undefined;
  /** False for unsupported interactions. */
  readonly isSupported: boolean;
}

/** Returns the interaction's id and token; undefined if either is missing. */
export function credentialOf(payload: unknown): { readonly id: string; readonly token: string } | undefined {
  const id = textMember(payload, 'id');
  const token = textMember(payload, 'token');
  if (id === undefined || !/^[\w-]{1,64}$/.test(id)) return undefined;
  return token === undefined || token === '' ? undefined : { id, token };
}

/**
 * Returns the channel; a placeholder with the user id if it is missing, because a reply does not need the
 * channel.
 */
export function channelOf(payload: unknown): string {
  const channel = textMember(payload, 'channel_id', 'channel.id', 'message.channel_id');
  return channel ?? `user-${senderOf(payload).id ?? ''}`;
}

/**
 * Returns channel aliases for filters: the name, and the thread's parent. Numeric names are omitted, because
 * they could be mistaken for ids.
 */
export function channelAliasesOf(payload: unknown): readonly string[] {
  const channel = memberOf(payload, 'channel');
  const type = memberOf(channel, 'type');
  const parent = THREADS.includes(type) ? textMember(channel, 'parent_id') : undefined;
  const name = NAMED_CHANNELS.includes(type) ? textMember(channel, 'name') : undefined;
  return [name !== undefined && /^#*\d+$/.test(name) ? undefined : name, parent].filter(
    (each) => each !== undefined,
  );
}

export interface InteractionSender {
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly username: string | undefined;
  readonly roles: readonly string[];
}

/** Returns the sender. In direct messages the sender has no member data and no roles. */
export function senderOf(payload: unknown): InteractionSender {
  const user = memberOf(payload, 'member.user') ?? memberOf(payload, 'user');
  const username = textMember(user, 'username');
  return {
    id: textMember(user, 'id'),
    name: textMember(payload, 'member.nick') ?? textMember(user, 'global_name') ?? username,
    username,
    roles: listMember(payload, 'member.roles').filter((role) => typeof role === 'string'),
  };
}

/** Returns the message with the pressed button, or a menu command's target, whose text is the input. */
export function quotedMessages(payload: unknown): readonly QuotedMessage[] {
  const target = resolvedObject(
    memberOf(payload, 'data'),
    'messages',
    textMember(payload, 'data.target_id') ?? '',
  );
  if (target !== undefined) return [{ relation: 'quoted', sender: authorOf(target) }];
  const pressed = memberOf(payload, 'message');
  const text = pressed === undefined ? '' : textOfMessage(pressed);
  return text === '' ? [] : [{ relation: 'answered', sender: authorOf(pressed), text }];
}

function authorOf(message: unknown): MessageParty | undefined {
  const id = textMember(message, 'author.id');
  const name = textMember(message, 'author.global_name', 'author.username');
  return id === undefined && name === undefined ? undefined : { id, name };
}

/** Parses an interaction. A missing id becomes ''. */
export function interactionOf(payload: unknown): Interaction {
  const id = textMember(payload, 'id') ?? '';
  const data = memberOf(payload, 'data');
  const type = memberOf(payload, 'type');
  if (type === COMMAND) return { id, ...commandOf(data) };
  if (type === COMPONENT) return { id, ...componentOf(data) };
  if (type === MODAL) return { id, ...modalOf(data) };
  const unknown = { names: [], rest: '', values: {}, customId: undefined, isSupported: false };
  return { id, kind: `type ${String(type)}`, text: '', ...unknown };
}

/** Returns the approval decision in a button press; undefined for other interactions. */
export function decisionOf(payload: unknown): DecisionInbound | undefined {
  if (memberOf(payload, 'type') !== COMPONENT || memberOf(payload, 'data.component_type') !== BUTTON)
    return undefined;
  return decisionOfPress(textMember(payload, 'data.custom_id') ?? '');
}

type ParsedInteraction = Omit<Interaction, 'id'>;

function commandOf(data: unknown): ParsedInteraction {
  const name = textMember(data, 'name') ?? '';
  const kind = MENU_KINDS[Number(memberOf(data, 'type'))];
  const common = { names: [name], rest: '', customId: undefined, isSupported: true };
  if (kind !== undefined) return { ...common, kind, text: `/${name} ${targetOf(data)}`.trim(), values: {} };
  const { path, values } = optionsOf(data, MAX_DEPTH);
  const valueTexts = values.map(([option, value]) => `${option}: ${value}`);
  const [onlyValue] = values.length === 1 ? values : [];
  const text = onlyValue?.[0] === TEXT ? onlyValue[1] : [`/${name}`, ...path, ...valueTexts].join(' ');
  return { ...common, kind: 'command', text, values: Object.fromEntries(values) };
}

/** Returns a menu command's target: the text of the message, or the name of the user. */
function targetOf(data: unknown): string {
  const id = textMember(data, 'target_id') ?? '';
  const message = resolvedObject(data, 'messages', id);
  if (message !== undefined) return textOfMessage(message);
  return textMember(resolvedObject(data, 'users', id), 'global_name', 'username') ?? id;
}

/** Returns a resolved object by its id. Not read with `memberOf`, which caches every path. */
function resolvedObject(data: unknown, kind: 'messages' | 'users', id: string): unknown {
  const all = memberOf(data, `resolved.${kind}`);
  if (typeof all !== 'object' || all === null || !Object.hasOwn(all, id)) return undefined;
  return (all as Readonly<Record<string, unknown>>)[id];
}

interface Options {
  /** Subcommands, the outermost first. */
  readonly path: readonly string[];
  readonly values: readonly (readonly [string, string])[];
}

/** Returns the options of a command or subcommand; subcommands are nested options without a value. */
function optionsOf(parent: unknown, depth: number): Options {
  const path: string[] = [];
  const values: (readonly [string, string])[] = [];
  for (const option of listMember(parent, 'options')) {
    const name = textMember(option, 'name');
    if (name === undefined) continue;
    const value = textOf(memberOf(option, 'value'));
    if (value !== undefined) values.push([name, value]);
    else if (depth > 1) {
      const inner = optionsOf(option, depth - 1);
      path.push(name, ...inner.path);
      values.push(...inner.values);
    }
  }
  return { path, values };
}

function componentOf(data: unknown): ParsedInteraction {
  const customId = textMember(data, 'custom_id') ?? '';
  const selected = listMember(data, 'values').flatMap((value) => textOf(value) ?? []);
  // In a select of the gateway, the chosen value is the action id.
  const isOwn = customId.startsWith(SELECT) && selected.length > 0;
  const id = isOwn ? selected.join(' ') : customId;
  const text = isOwn || selected.length === 0 ? id : `${id}: ${selected.join(', ')}`;
  const values = { custom_id: id, ...(selected.length > 0 && { values: selected.join(', ') }) };
  return { kind: 'component', text, ...commandIn(id), values, customId, isSupported: true };
}

/** Splits an id that may be a command with arguments. */
function commandIn(id: string): Pick<Interaction, 'names' | 'rest'> {
  const [, name = '', rest = ''] = /^\s*\/?(\S+)\s*([\s\S]*)$/.exec(id) ?? [];
  return { names: [name], rest };
}

function modalOf(data: unknown): ParsedInteraction {
  const customId = textMember(data, 'custom_id') ?? '';
  const fields = listMember(data, 'components').flatMap(fieldsIn);
  const [only] = fields;
  const valueTexts = fields.map(([name, value]) => `${name}: ${value}`).join('\n');
  const text = (fields.length === 1 ? only?.[1] : valueTexts) || customId;
  const values = { custom_id: customId, ...Object.fromEntries(fields) };
  return { kind: 'modal', text, ...commandIn(customId), values, customId, isSupported: true };
}

function fieldsIn(component: unknown): readonly (readonly [string, string])[] {
  const type = memberOf(component, 'type');
  if (type === ROW) return listMember(component, 'components').flatMap(fieldOf);
  return type === LABEL ? fieldOf(memberOf(component, 'component')) : fieldOf(component);
}

function fieldOf(field: unknown): readonly (readonly [string, string])[] {
  const name = textMember(field, 'custom_id');
  if (name === undefined) return [];
  const selected = listMember(field, 'values').flatMap((value) => textOf(value) ?? []);
  const value = textOf(memberOf(field, 'value')) ?? (selected.length > 0 ? selected.join(', ') : undefined);
  return value === undefined ? [] : [[name, value]];
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}
