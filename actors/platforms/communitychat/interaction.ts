// What the platform sends when somebody gives a command, presses, chooses or fills in something, as far as it matters here.
// Nothing of it is sure: what is not where it should be is left out.

import type { DecisionInbound } from '../../events/decision-inbound.ts';
import { pressedDecision } from '../chats/chat-decisions.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';

/** Numbers of the platform. */
export const PING = 1;
export const AUTOCOMPLETE = 4;
const COMMAND = 2;
export const COMPONENT = 3;
const MODAL = 5;
/** Kinds of `data.type` of commands that are found in a menu of a person or a message. */
const MENU_KINDS: Readonly<Record<number, string>> = { 2: 'user command', 3: 'message command' };
/** Of `data.component_type`. */
const BUTTON = 2;
/** Rows, and labels around one field. */
const ROW = 1;
const LABEL = 18;
/** Types of channels that are threads of their parent. */
const THREADS: readonly unknown[] = [10, 11, 12];
/** Types of channels that whoever looks after a server makes and names; threads and groups are named by whoever opens them. */
const NAMED: readonly unknown[] = [0, 2, 5, 13, 15, 16];
/** Where it is the only value of a command it is what somebody says: people have no other way to. */
const TEXT = 'text';
/** A sub-command within a group of them. */
const MAX_DEPTH = 3;
/** Our own selects: what is chosen in them is the id of an action. */
export const SELECT = 'actions:';

export interface Interaction {
  readonly id: string;
  readonly kind: string;
  /** What is said: the command with its values, what was pressed or chosen, what was filled in. */
  readonly text: string;
  /** Names of commands it may stand for. */
  readonly names: readonly string[];
  /** What stands behind the command, where the platform has no fields for that. */
  readonly rest: string;
  /** Values by name. */
  readonly values: Readonly<Record<string, string>>;
  /** Of what was pressed or filled in. */
  readonly customId: string | undefined;
  /** Undefined for one that the gateway cannot read. */
  readonly isKnown: boolean;
}

/** Its id and the credential under which it can be answered; undefined where either is missing. */
export function credentialOf(payload: unknown): { readonly id: string; readonly token: string } | undefined {
  const id = textMember(payload, 'id');
  const token = textMember(payload, 'token');
  if (id === undefined || !/^[\w-]{1,64}$/.test(id)) return undefined;
  return token === undefined || token === '' ? undefined : { id, token };
}

/** Where it was said. Who sends no channel can be answered all the same: the answer goes to the interaction. */
export function channelOf(payload: unknown): string {
  const channel = textMember(payload, 'channel_id', 'channel.id', 'message.channel_id');
  return channel ?? `user-${senderOf(payload).id ?? ''}`;
}

/**
 * Other names by which filters may know the channel: its name, and of a thread the id of the channel that it is in. A name of
 * digits is none: it would stand for an id.
 */
export function channelAliasesOf(payload: unknown): readonly string[] {
  const channel = memberOf(payload, 'channel');
  const type = memberOf(channel, 'type');
  const parent = THREADS.includes(type) ? textMember(channel, 'parent_id') : undefined;
  const name = NAMED.includes(type) ? textMember(channel, 'name') : undefined;
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

/** In a direct message there is a user and no member, and so no role. */
export function senderOf(payload: unknown): InteractionSender {
  const user = memberOf(payload, 'member.user') ?? memberOf(payload, 'user');
  const username = textMember(user, 'username');
  return {
    id: textMember(user, 'id'),
    name: textMember(payload, 'member.nick') ?? textMember(user, 'global_name') ?? username,
    username,
    roles: listIn(payload, 'member.roles').filter((role) => typeof role === 'string'),
  };
}

/** Of a payload without an id the id is empty. */
export function interactionOf(payload: unknown): Interaction {
  const id = textMember(payload, 'id') ?? '';
  const data = memberOf(payload, 'data');
  const type = memberOf(payload, 'type');
  if (type === COMMAND) return { id, ...commandOf(data) };
  if (type === COMPONENT) return { id, ...componentOf(data) };
  if (type === MODAL) return { id, ...modalOf(data) };
  const unknown = { names: [], rest: '', values: {}, customId: undefined, isKnown: false };
  return { id, kind: `type ${String(type)}`, text: '', ...unknown };
}

/** What is decided by a press of a button of ours about an approval; undefined for anything else. */
export function decisionOf(payload: unknown): DecisionInbound | undefined {
  if (memberOf(payload, 'type') !== COMPONENT || memberOf(payload, 'data.component_type') !== BUTTON)
    return undefined;
  return pressedDecision(textMember(payload, 'data.custom_id') ?? '');
}

type Said = Omit<Interaction, 'id'>;

function commandOf(data: unknown): Said {
  const name = textMember(data, 'name') ?? '';
  const kind = MENU_KINDS[Number(memberOf(data, 'type'))];
  const all = { names: [name], rest: '', customId: undefined, isKnown: true };
  if (kind !== undefined) return { ...all, kind, text: `/${name} ${targetOf(data)}`.trim(), values: {} };
  const { path, values } = optionsOf(data, MAX_DEPTH);
  const words = values.map(([option, value]) => `${option}: ${value}`);
  const [said] = values.length === 1 ? values : [];
  const text = said?.[0] === TEXT ? said[1] : [`/${name}`, ...path, ...words].join(' ');
  return { ...all, kind: 'command', text, values: Object.fromEntries(values) };
}

/** What a command out of a menu is about: the words of the message, or who the person is. */
function targetOf(data: unknown): string {
  const id = textMember(data, 'target_id') ?? '';
  const message = textMember(resolvedOf(data, 'messages', id), 'content');
  const user = resolvedOf(data, 'users', id);
  return message ?? textMember(user, 'global_name', 'username') ?? id;
}

/** Paths are remembered, and ids are without end: an id is no part of one. */
function resolvedOf(data: unknown, kind: 'messages' | 'users', id: string): unknown {
  const all = memberOf(data, `resolved.${kind}`);
  if (typeof all !== 'object' || all === null || !Object.hasOwn(all, id)) return undefined;
  return (all as Readonly<Record<string, unknown>>)[id];
}

interface Options {
  /** Sub-commands, the outer one first. */
  readonly path: readonly string[];
  readonly values: readonly (readonly [string, string])[];
}

function optionsOf(holder: unknown, depth: number): Options {
  const path: string[] = [];
  const values: (readonly [string, string])[] = [];
  for (const option of listIn(holder, 'options')) {
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

function componentOf(data: unknown): Said {
  const customId = textMember(data, 'custom_id') ?? '';
  const chosen = listIn(data, 'values').flatMap((value) => textOf(value) ?? []);
  const isOwn = customId.startsWith(SELECT) && chosen.length > 0;
  const id = isOwn ? chosen.join(' ') : customId;
  const text = isOwn || chosen.length === 0 ? id : `${id}: ${chosen.join(', ')}`;
  const values = { custom_id: id, ...(chosen.length > 0 && { values: chosen.join(', ') }) };
  return { kind: 'component', text, ...commandIn(id), values, customId, isKnown: true };
}

/** An id may stand for a command, with its parameters behind the name. */
function commandIn(id: string): Pick<Interaction, 'names' | 'rest'> {
  const [, name = '', rest = ''] = /^\s*\/?(\S+)\s*([\s\S]*)$/.exec(id) ?? [];
  return { names: [name], rest };
}

function modalOf(data: unknown): Said {
  const customId = textMember(data, 'custom_id') ?? '';
  const fields = listIn(data, 'components').flatMap(fieldsIn);
  const [only] = fields;
  const words = fields.map(([name, value]) => `${name}: ${value}`).join('\n');
  const text = (fields.length === 1 ? only?.[1] : words) || customId;
  const values = { custom_id: customId, ...Object.fromEntries(fields) };
  return { kind: 'modal', text, ...commandIn(customId), values, customId, isKnown: true };
}

function fieldsIn(component: unknown): readonly (readonly [string, string])[] {
  const type = memberOf(component, 'type');
  if (type === ROW) return listIn(component, 'components').flatMap(fieldOf);
  return type === LABEL ? fieldOf(memberOf(component, 'component')) : fieldOf(component);
}

function fieldOf(field: unknown): readonly (readonly [string, string])[] {
  const name = textMember(field, 'custom_id');
  if (name === undefined) return [];
  const chosen = listIn(field, 'values').flatMap((value) => textOf(value) ?? []);
  const value = textOf(memberOf(field, 'value')) ?? (chosen.length > 0 ? chosen.join(', ') : undefined);
  return value === undefined ? [] : [[name, value]];
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

function listIn(value: unknown, path: string): readonly unknown[] {
  const list = memberOf(value, path);
  return Array.isArray(list) ? list : [];
}
