// The sessions of clients as the inspector shows them: a piece at a time, the oldest first, so that a new one moves no other.
//
// SI1 (A9)  a session's id is its client's key, and no part of it leaves; a session has a number. What a client calls
//           itself is cut and redacted.
// SI2 (A8)  an answer has at most MAX_COUNT sessions. What is left out is counted and passed over, and nothing made of it.
// SI3 (A6)  calls go on while many are looked through: after each SLICE they have their turn. Who comes or goes meanwhile
//           may be in the answer or not.

import { setImmediate as othersTurn } from 'node:timers/promises';
import type { Redactor } from '../../actors/base/errors/redact.ts';
import { MAX_NAME_CHARS } from '../../actors/mcp/clients/client-description.ts';
import type { ListenStream } from '../../actors/mcp/clients/sessions/listen-stream.ts';
import type { ClientSession } from '../../actors/mcp/clients/sessions/session.ts';
import type { Sessions } from '../../actors/mcp/clients/sessions/sessions.ts';
import { modernVersion } from '../../actors/mcp/jsonrpc/modern-meta.ts';
import type { SessionList, SessionPlace, SessionRow } from './wire/feed-wire.ts';

export const MAX_COUNT = 200;
const DEFAULT_COUNT = 50;
/** Characters of a name or a version; the same number of a filter. */
const MAX_TEXT = 80;
/** Sessions, in a millisecond or two. */
const SLICE = 4_096;
/** Words in a filter. */
const MAX_WORDS = 8;

type Client = ClientSession | ListenStream;
type Listed = Pick<Sessions, 'inOrder' | 'size' | 'listens'>;

export interface SessionQuery {
  readonly from: number;
  readonly count: number;
  readonly filter: string;
}

/** What `?from=…&count=…&filter=…` asks for; undefined when a number is none, or too large. */
export function readQuery(query: string): SessionQuery | undefined {
  const fields = new URLSearchParams(query);
  const from = wholeNumber(fields.get('from') ?? '0');
  const count = wholeNumber(fields.get('count') ?? String(DEFAULT_COUNT));
  if (from === undefined || count === undefined || count > MAX_COUNT) return undefined;
  return { from, count, filter: (fields.get('filter') ?? '').slice(0, MAX_TEXT) };
}

/**
 * The sessions asked for. The words of the filter are looked for in number, name, version, endpoint, era and state, and in
 * the word `sessions`.
 */
export async function sessionList(
  sessions: Listed,
  query: SessionQuery,
  redactor: Redactor,
): Promise<SessionList> {
  const { from, count, filter } = query;
  const words = wordsIn(filter);
  const found: Client[] = [];
  let matching = 0;
  let seen = 0;
  for (const client of sessions.inOrder()) {
    if (++seen % SLICE === 0) await othersTurn();
    if (words.length === 0 && matching >= from + count) break;
    if (!matches(client, words)) continue;
    if (matching >= from && found.length < count) found.push(client);
    matching += 1;
  }
  const total = sessions.size + sessions.listens;
  return {
    at: Date.now(),
    total,
    matching: words.length === 0 ? total : matching,
    from,
    sessions: found.map((client) => rowOf(client, redactor)),
  };
}

/** One session, and which one of those that match it is; undefined when there is none of that number. */
export async function sessionPlace(
  sessions: Listed,
  number: number,
  filter: string,
  redactor: Redactor,
): Promise<SessionPlace | undefined> {
  const words = wordsIn(filter);
  let before = 0;
  let seen = 0;
  for (const client of sessions.inOrder()) {
    if (++seen % SLICE === 0) await othersTurn();
    if (client.number > number) return undefined;
    const isMatch = matches(client, words);
    if (client.number === number)
      return { at: Date.now(), index: isMatch ? before : null, session: rowOf(client, redactor) };
    if (isMatch) before += 1;
  }
  return undefined;
}

function rowOf(client: Client, redactor: Redactor): SessionRow {
  const { number, era, openedAt } = client;
  const { name, version } = client.description;
  return {
    number,
    client: shown(name, redactor),
    version: shown(version, redactor),
    endpoint: endpointOf(client),
    era,
    // What a client that listens has as its version is what servers of the other era are told.
    protocol_version: client.isListener ? modernVersion : client.protocolVersion,
    state: stateOf(client),
    opened_at: epochMs(openedAt),
    // A client that listens has said nothing since.
    last_seen_at: epochMs(client.isListener ? openedAt : client.lastSeenAt),
    streams: client.hasOpenStream ? 1 : 0,
    in_flight: client.isListener ? 0 : client.inFlight,
  };
}

function shown(text: string, redactor: Redactor): string {
  return redactor.excerpt(text, MAX_TEXT, text.length === MAX_NAME_CHARS);
}

function stateOf(client: Client): SessionRow['state'] {
  if (!client.isListener && client.inFlight > 0) return 'calling';
  return client.hasOpenStream ? 'listening' : 'idle';
}

function endpointOf({ target, profile }: Client): string {
  if (profile !== undefined) return `/mcp/@${profile.name}`;
  return target === undefined ? '/mcp' : `/mcp/${target}`;
}

/** Looks at what the client said, unredacted: to redact ten thousand names would hold up every call. None is shown here. */
function matches(client: Client, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const { name, version } = client.description;
  const said = `${name.slice(0, MAX_TEXT)} ${version.slice(0, MAX_TEXT)}`;
  const text =
    `sessions ${client.number} ${said} ${endpointOf(client)} ${client.era} ${stateOf(client)}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function wordsIn(filter: string): readonly string[] {
  return filter.toLowerCase().split(/\s+/).filter(Boolean).slice(0, MAX_WORDS);
}

/** Undefined for anything but up to nine digits. */
export function wholeNumber(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** Of a moment that performance.now() has told. By an origin that does not move, so that two moments keep their order. */
function epochMs(moment: number): number {
  return Math.round(performance.timeOrigin + moment);
}
