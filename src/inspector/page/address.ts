// Each view has an address: /inspector/view/<actor>/<tab>. An actor is named so that the address outlives the actor: a
// server by its id, whatever its generation; a nameless child by its parent and its own name, such as files/pool. Any other
// actor has a `~` before its name, which no id of a server has: however servers are called, each address is one actor's. Triggers
// may be called anything as well, and have a word before theirs. A slash in a name, as in the keys of conversations, is none
// in the address.
// Sessions, nodes, runs, deliveries, approvals, agents and flows are no actors; theirs begin with the names of actors that there are not: `~sessions`, `~nodes`,
// `~runs`, `~deliveries`, `~approvals`, `~agents`, `~flows`. What a list is filtered by, and which tool of a server is chosen, is the
// query of the address. The overview is at /inspector itself.

import type { ActorNode } from '../wire/feed-wire.ts';

export const tabs = ['log', 'sequence', 'numbers', 'stderr', 'tools', 'details'] as const;
export type Tab = (typeof tabs)[number];

export interface View {
  /** Whom it is about; '' for all of it: the overview. */
  readonly actor: string;
  readonly tab: Tab;
  /** What its list is filtered by, or which tool is chosen, without the question mark; only where there is such a list, or tools. */
  readonly query?: string;
}

/** The address of the overview: of nobody in particular. */
export const OVERVIEW = '';

/** The address of the gateway's own actor, the root of all others. */
export const ROOT = '~gateway';

/** The address of all sessions. */
export const SESSIONS = '~sessions';

/** The address of one session. */
export function sessionAddress(number: number): string {
  return `${SESSIONS}/${number}`;
}

/** Which session an address names; undefined for that of all and for any other. */
export function sessionAt(address: string): number | undefined {
  const [, digits] = /^~sessions\/(\d{1,15})$/.exec(address) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** Whether an address is that of sessions, of all or of one. */
export function isOfSessions(address: string): boolean {
  return address === SESSIONS || sessionAt(address) !== undefined;
}

/** The address of all nodes of the cluster. */
export const NODES = '~nodes';

const NODE = `${NODES}/`;

/** The address of one node. */
export function nodeAddress(name: string): string {
  return NODE + partOf(name);
}

/** Which node an address names; undefined for that of all and for any other. */
export function nodeAt(address: string): string | undefined {
  const part = address.startsWith(NODE) ? address.slice(NODE.length) : '';
  return part === '' ? undefined : nameIn(part);
}

/** Whether an address is that of nodes, of all or of one. */
export function isOfNodes(address: string): boolean {
  return address === NODES || nodeAt(address) !== undefined;
}

/** What is shown in the place of actors. */
export const sections = ['runs', 'deliveries', 'approvals', 'agents', 'connect'] as const;
export type Section = (typeof sections)[number];

export function sectionView(section: Section): View {
  return { actor: `~${section}`, tab: 'details' };
}

/** Which of them an address belongs to; undefined for that of an actor or of sessions. */
export function sectionAt(address: string): Section | undefined {
  if (address.startsWith(FLOW)) return 'agents';
  if (address.startsWith(DELIVERY)) return 'deliveries';
  return address.startsWith(RUN) ? 'runs' : sections.find((section) => address === `~${section}`);
}

const RUN = '~runs/';
const FLOW = '~flows/';
const DELIVERY = '~deliveries/';

/** The tools of the server at that address, with one of them chosen or none. */
export function toolsView(actor: string, tool?: string): View {
  return {
    ...{ actor, tab: 'tools' },
    ...(tool === undefined || tool === '' ? {} : { query: `${new URLSearchParams({ tool })}` }),
  };
}

/** Which tool a view names. */
export function toolIn({ tab, query }: View): string | undefined {
  return (tab === 'tools' && new URLSearchParams(query).get('tool')) || undefined;
}

/** The list of deliveries, or one of them beside it. */
export function deliveriesView(query: string, id?: string): View {
  return {
    actor: id === undefined ? '~deliveries' : DELIVERY + partOf(id),
    tab: 'details',
    ...(query === '' ? {} : { query }),
  };
}

/** Which delivery an address names; undefined for any other. */
export function deliveryAt(address: string): string | undefined {
  const part = address.startsWith(DELIVERY) ? address.slice(DELIVERY.length) : '';
  return part === '' ? undefined : nameIn(part);
}

/** A flow stands beside the agents. */
export function flowView(name: string): View {
  return { actor: FLOW + partOf(name), tab: 'details' };
}

/** Which flow an address names; undefined for any other. */
export function flowAt(address: string): string | undefined {
  const part = address.startsWith(FLOW) ? address.slice(FLOW.length) : '';
  return part === '' ? undefined : nameIn(part);
}

export function runView(id: string): View {
  return { actor: RUN + partOf(id), tab: 'details' };
}

/** Which run an address names; undefined for any other. */
export function runAt(address: string): string | undefined {
  const part = address.startsWith(RUN) ? address.slice(RUN.length) : '';
  return part === '' ? undefined : nameIn(part);
}

/** Of the mailbox of that key, while there is one. */
export function mailboxAddress(key: string): string {
  return `~${partOf(key)}`;
}

const HOME = '/inspector';
const START = `${HOME}/view/`;

/** The path of a view, with its query. */
export function pathOf({ actor, tab, query }: View): string {
  if (actor === OVERVIEW && tab === 'log') return HOME;
  const parts = actor.split('/').map(encodeURIComponent);
  return `${START}${parts.join('/')}/${tab}${query === undefined ? '' : `?${query}`}`;
}

/** The view at a path with its query; the overview where it names none. */
export function viewAt(asked: string): View {
  const [path = '', query = ''] = asked.split('?', 2);
  const parts = path.startsWith(START) ? path.slice(START.length).split('/').map(decoded) : [];
  const last = parts.at(-1) ?? '';
  const tab = tabs.find((name) => name === last);
  const actor = (tab === undefined ? parts : parts.slice(0, -1)).filter((part) => part !== '');
  const view: View = { actor: actor.join('/'), tab: tab ?? 'log' };
  if (query === '') return view;
  if (sectionAt(view.actor) === 'deliveries') return { ...view, query };
  return tab === 'tools' ? toolsView(view.actor, toolIn({ ...view, query })) : view;
}

/** `files` for the actor `files#3`, and for `files~7#8` that has replaced it after a change of the catalog. */
export function baseName(name: string): string {
  // A key is never replaced by another, and may end in anything.
  return name.replace(name.includes('/') ? /#\d+$/ : /(~\d+)?#\d+$/, '');
}

/** An actor as people call it: a conversation without the word that every one begins with. */
export function shownName(name: string): string {
  return withoutWord(baseName(name));
}

function withoutWord(name: string): string {
  return name.replace(/^conversation\//, '');
}

const TRIGGER = '~trigger/';

export function triggerAddress(name: string): string {
  return TRIGGER + partOf(name);
}

/** Which trigger an address names; undefined for that of any other actor, those below a trigger included. */
export function triggerAt(address: string): string | undefined {
  const part = address.startsWith(TRIGGER) ? address.slice(TRIGGER.length) : '';
  return part === '' || part.includes('/') ? undefined : nameIn(part);
}

/** Of a server by its id; that of an agent's own has a slash. */
export const serverAddress = partOf;

/** Of the actor under which the mailboxes of a kind of work stand. */
export function workAddress(name: string): string {
  return `~${partOf(name)}`;
}

function partOf(name: string): string {
  return name.replace(/[%/]/g, encodeURIComponent);
}

function nameIn(part: string): string {
  return part.replace(/%2[5F]/g, decodeURIComponent);
}

type Named = Pick<ActorNode, 'name' | 'machine' | 'parent'>;

export function addressOf(actor: Named, actors: ReadonlyMap<string, ActorNode>): string {
  const own = partOf(baseName(actor.name));
  if (actor.machine === 'server') return own;
  if (actor.machine === 'trigger') return TRIGGER + own;
  const parent = actor.machine !== null || actor.parent === null ? undefined : actors.get(actor.parent);
  // What is below the gateway itself has its name for itself.
  const isAlone = parent === undefined || parent.parent === null;
  return isAlone ? `~${own}` : `${addressOf(parent, actors)}/${own}`;
}

/** An address as a title. */
export function nameAt(address: string): string {
  return address
    .replace(/^~(trigger\/)?/, '')
    .split('/')
    .map((part) => withoutWord(nameIn(part)))
    .join('/');
}

/** The actor that lives at an address now, the latest where there are two; the root at that of the overview. */
export function actorAt<A extends ActorNode>(address: string, actors: ReadonlyMap<string, A>): A | undefined {
  let found: A | undefined;
  for (const actor of actors.values()) {
    if (address === '') return actor;
    // Cheap first: an address is made only of those that can have it.
    if (address.endsWith(partOf(baseName(actor.name))) && addressOf(actor, actors) === address) found = actor;
  }
  return found;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
