// Addresses of views: /inspector/view/<actor>/<tab>; the overview is /inspector. An address contains the role
// of its subject, not an actor id, so it stays valid when the gateway restarts the actor:
//
//   SERVER, such as files      server by id
//   ~trigger/NAME              trigger
//   ~NAME                      any other actor; no server id starts with `~`
//   PARENT/NAME                unnamed child, such as files/pool
//   ~sessions, ~nodes, ~calls, ~audit, ~runs, ~deliveries, ~approvals, ~agents, ~flows, ~connect   not actors
//
// Slashes in names are percent-encoded. The query contains the list filter or the selected tool.

import type { ActorNode } from '../wire/feed.ts';
import { HOME } from './home.ts';

export const tabs = ['log', 'sequence', 'numbers', 'stderr', 'tools', 'details'] as const;
export type Tab = (typeof tabs)[number];

export interface PageView {
  /** Address of the subject; '' for the overview. */
  readonly actor: string;
  readonly tab: Tab;
  /** List filter or selected tool, as a query string without `?`. Only for views with lists or tools. */
  readonly query?: string;
}

/** Address of the overview. */
export const OVERVIEW = '';

/** Address of the gateway's actor, the root of the tree. */
export const ROOT = '~gateway';

/** Address of the list of sessions. */
export const SESSIONS = '~sessions';

export function sessionAddress(number: number): string {
  return `${SESSIONS}/${number}`;
}

/** Parses a session address. Returns undefined for other addresses. */
export function sessionAt(address: string): number | undefined {
  const [, digits] = /^~sessions\/(\d{1,15})$/.exec(address) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** Returns true for session addresses and for the address of the session list. */
export function isSessionView(address: string): boolean {
  return address === SESSIONS || sessionAt(address) !== undefined;
}

/** Address of the list of nodes. */
export const NODES = '~nodes';

const NODE = `${NODES}/`;

export function nodeAddress(name: string): string {
  return NODE + encodeName(name);
}

/** Parses a node address. Returns undefined for other addresses. */
export function nodeAt(address: string): string | undefined {
  const part = address.startsWith(NODE) ? address.slice(NODE.length) : '';
  return part === '' ? undefined : decodeName(part);
}

/** Returns true for node addresses and for the address of the node list. */
export function isNodeView(address: string): boolean {
  return address === NODES || nodeAt(address) !== undefined;
}

/** Sections: views without the actor tree. */
export const sections = ['calls', 'runs', 'deliveries', 'approvals', 'agents', 'audit', 'connect'] as const;
export type Section = (typeof sections)[number];

export function sectionView(section: Section): PageView {
  return { actor: `~${section}`, tab: 'details' };
}

/** Returns the section at an address; undefined for actors, sessions and nodes. */
export function sectionAt(address: string): Section | undefined {
  if (address.startsWith(FLOW)) return 'agents';
  if (address.startsWith(DELIVERY)) return 'deliveries';
  return address.startsWith(RUN) ? 'runs' : sections.find((section) => address === `~${section}`);
}

const RUN = '~runs/';
const FLOW = '~flows/';
const DELIVERY = '~deliveries/';

/** Returns the view for a server's tools, optionally with a selected tool. */
export function toolsView(actor: string, tool?: string): PageView {
  return {
    actor,
    tab: 'tools',
    ...(tool === undefined || tool === '' ? {} : { query: `${new URLSearchParams({ tool })}` }),
  };
}

export function toolIn({ tab, query }: PageView): string | undefined {
  return (tab === 'tools' && new URLSearchParams(query).get('tool')) || undefined;
}

/** Returns the view of the delivery list, optionally with a selected delivery. */
export function deliveriesView(query: string, id?: string): PageView {
  return {
    actor: id === undefined ? '~deliveries' : DELIVERY + encodeName(id),
    tab: 'details',
    ...(query === '' ? {} : { query }),
  };
}

/** Parses a delivery address. Returns undefined for other addresses. */
export function deliveryAt(address: string): string | undefined {
  const part = address.startsWith(DELIVERY) ? address.slice(DELIVERY.length) : '';
  return part === '' ? undefined : decodeName(part);
}

/** Returns the view of the call list. */
export function callsView(query: string): PageView {
  return { actor: '~calls', tab: 'details', ...(query === '' ? {} : { query }) };
}

/** Returns the view of the audit. */
export function auditView(query: string): PageView {
  return { actor: '~audit', tab: 'details', ...(query === '' ? {} : { query }) };
}

export function flowView(name: string): PageView {
  return { actor: FLOW + encodeName(name), tab: 'details' };
}

/** Parses a flow address. Returns undefined for other addresses. */
export function flowAt(address: string): string | undefined {
  const part = address.startsWith(FLOW) ? address.slice(FLOW.length) : '';
  return part === '' ? undefined : decodeName(part);
}

export function runView(id: string): PageView {
  return { actor: RUN + encodeName(id), tab: 'details' };
}

/** Parses a run address. Returns undefined for other addresses. */
export function runAt(address: string): string | undefined {
  const part = address.startsWith(RUN) ? address.slice(RUN.length) : '';
  return part === '' ? undefined : decodeName(part);
}

/** Returns the address of the mailbox (the queue of one conversation or destination) for this key. */
export function mailboxAddress(key: string): string {
  return `~${encodeName(key)}`;
}

const START = `${HOME}/view/`;

/** Returns the URL path and query for a view. */
export function pathOf({ actor, tab, query }: PageView): string {
  if (actor === OVERVIEW && tab === 'log') return HOME;
  const parts = actor.split('/').map(encodeURIComponent);
  return `${START}${parts.join('/')}/${tab}${query === undefined ? '' : `?${query}`}`;
}

/** Parses a URL path with query. Returns the overview if the path is unknown. */
export function viewAt(location: string): PageView {
  const [path = '', query = ''] = location.split('?', 2);
  const parts = path.startsWith(START) ? path.slice(START.length).split('/').map(decodePart) : [];
  const last = parts.at(-1) ?? '';
  const tab = tabs.find((name) => name === last);
  const actor = (tab === undefined ? parts : parts.slice(0, -1)).filter((part) => part !== '');
  const view: PageView = { actor: actor.join('/'), tab: tab ?? 'log' };
  if (query === '') return view;
  const section = sectionAt(view.actor);
  if (section === 'deliveries' || section === 'calls' || section === 'audit') return { ...view, query };
  return tab === 'tools' ? toolsView(view.actor, toolIn({ ...view, query })) : view;
}

/**
 * Returns the name without suffixes: `files` for `files#3` (third start) and `files~7#8` (started with a
 * changed catalog entry).
 */
export function baseName(name: string): string {
  // Keys of mailboxes have no `~` suffix, and may contain any text.
  return name.replace(name.includes('/') ? /#\d+$/ : /(~\d+)?#\d+$/, '');
}

/** Returns the name to display, without suffixes and the prefix `conversation/`. */
export function displayName(name: string): string {
  return stripKind(baseName(name));
}

function stripKind(name: string): string {
  return name.replace(/^conversation\//, '');
}

const TRIGGER = '~trigger/';

export function triggerAddress(name: string): string {
  return TRIGGER + encodeName(name);
}

/** Parses a trigger address. Returns undefined for other addresses, also for children of triggers. */
export function triggerAt(address: string): string | undefined {
  const part = address.startsWith(TRIGGER) ? address.slice(TRIGGER.length) : '';
  return part === '' || part.includes('/') ? undefined : decodeName(part);
}

/** Returns a server's address. Ids of agent servers contain a slash. */
export const serverAddress = encodeName;

export function workAddress(name: string): string {
  return `~${encodeName(name)}`;
}

function encodeName(name: string): string {
  return name.replace(/[%/]/g, encodeURIComponent);
}

function decodeName(part: string): string {
  return part.replace(/%2[5F]/g, decodeURIComponent);
}

type NamedActor = Pick<ActorNode, 'name' | 'machine' | 'parent'>;

export function addressOf(actor: NamedActor, actors: ReadonlyMap<string, ActorNode>): string {
  const encodedName = encodeName(baseName(actor.name));
  if (actor.machine === 'server') return encodedName;
  if (actor.machine === 'trigger') return TRIGGER + encodedName;
  const parent = actor.machine !== null || actor.parent === null ? undefined : actors.get(actor.parent);
  // The addresses of the gateway's children do not name the parent.
  const isAlone = parent === undefined || parent.parent === null;
  return isAlone ? `~${encodedName}` : `${addressOf(parent, actors)}/${encodedName}`;
}

/** Returns the title of the view at an address. */
export function nameAt(address: string): string {
  return address
    .replace(/^~(trigger\/)?/, '')
    .split('/')
    .map((part) => stripKind(decodeName(part)))
    .join('/');
}

/** Returns the newest actor at this address; for the overview the root. */
export function actorAt<A extends ActorNode>(address: string, actors: ReadonlyMap<string, A>): A | undefined {
  let result: A | undefined;
  for (const actor of actors.values()) {
    if (address === '') return actor;
    // addressOf is expensive, so the name is compared first.
    if (address.endsWith(encodeName(baseName(actor.name))) && addressOf(actor, actors) === address)
      result = actor;
  }
  return result;
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
