// Lists client sessions for the inspector in pages. The oldest is first, so that a new session does not shift
// earlier ones.
//
// - The session id is a credential and is never sent (A9, ARCHITECTURE.md); sessions have numbers instead.
//   Names of clients are truncated and redacted.
// - A response has up to MAX_COUNT sessions (A8), and the total number.
// - Long lists are searched in batches, so that calls are not delayed (A6). Sessions that start or end during
//   the search may be missing.

import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Redactor } from '../../actors/base/errors/redact.ts';
import { MAX_NAME_CHARS } from '../../actors/mcp/clients/description.ts';
import type { ListenStream } from '../../actors/mcp/clients/sessions/listen-stream.ts';
import type { ClientSession } from '../../actors/mcp/clients/sessions/session.ts';
import type { Sessions } from '../../actors/mcp/clients/sessions/sessions.ts';
import { modernVersion } from '../../actors/mcp/jsonrpc/modern-meta.ts';
import type { SessionList, SessionPosition, SessionRow } from './wire/feed.ts';

export const MAX_COUNT = 200;
const DEFAULT_COUNT = 50;
/** Maximum length of names, versions and filters, in characters. */
const MAX_TEXT = 80;
/** Sessions per batch; a batch takes one or two milliseconds. */
const BATCH = 4_096;
/** Maximum number of terms in a filter. */
const MAX_TERMS = 8;

type ListedClient = ClientSession | ListenStream;
type SessionSource = Pick<Sessions, 'inOrder' | 'size' | 'listens'>;

export interface SessionQuery {
  readonly from: number;
  readonly count: number;
  readonly filter: string;
}

/** Parses `?from=…&count=…&filter=…`. Returns undefined for invalid or too large numbers. */
export function parseSessionQuery(query: string): SessionQuery | undefined {
  const fields = new URLSearchParams(query);
  const from = wholeNumber(fields.get('from') ?? '0');
  const count = wholeNumber(fields.get('count') ?? String(DEFAULT_COUNT));
  if (from === undefined || count === undefined || count > MAX_COUNT) return undefined;
  return { from, count, filter: (fields.get('filter') ?? '').slice(0, MAX_TEXT) };
}

/**
 * Returns a page of sessions. The terms of the filter match number, name, version, endpoint, state, and era
 * (`legacy` or `modern`: MCP versions with and without sessions). The term `sessions` matches all sessions,
 * because the page lists them in its tree under this heading.
 */
export async function sessionList(
  sessions: SessionSource,
  query: SessionQuery,
  redactor: Redactor,
): Promise<SessionList> {
  const { from, count, filter } = query;
  const terms = termsIn(filter);
  const results: ListedClient[] = [];
  let matching = 0;
  let visited = 0;
  for (const client of sessions.inOrder()) {
    if (++visited % BATCH === 0) await yieldToOthers();
    if (terms.length === 0 && matching >= from + count) break;
    if (!matches(client, terms)) continue;
    if (matching >= from && results.length < count) results.push(client);
    matching += 1;
  }
  const total = sessions.size + sessions.listens;
  return {
    at: Date.now(),
    total,
    matching: terms.length === 0 ? total : matching,
    from,
    sessions: results.map((client) => rowOf(client, redactor)),
  };
}

/** Returns the session and its index among the matches; undefined for unknown numbers. */
export async function findSession(
  sessions: SessionSource,
  number: number,
  filter: string,
  redactor: Redactor,
): Promise<SessionPosition | undefined> {
  const terms = termsIn(filter);
  let matchesBefore = 0;
  let visited = 0;
  for (const client of sessions.inOrder()) {
    if (++visited % BATCH === 0) await yieldToOthers();
    if (client.number > number) return undefined;
    const isMatch = matches(client, terms);
    if (client.number === number)
      return { at: Date.now(), index: isMatch ? matchesBefore : null, session: rowOf(client, redactor) };
    if (isMatch) matchesBefore += 1;
  }
  return undefined;
}

function rowOf(client: ListedClient, redactor: Redactor): SessionRow {
  const { number, era, openedAt } = client;
  const { name, version } = client.description;
  return {
    number,
    client: excerptOf(name, redactor),
    version: excerptOf(version, redactor),
    endpoint: endpointOf(client),
    era,
    // A listening client uses the modern version. Its `protocolVersion` is an older one, for the gateway's
    // connections to legacy servers.
    protocol_version: client.isListener ? modernVersion : client.protocolVersion,
    state: stateOf(client),
    opened_at: epochMs(openedAt),
    // A listening client sends no further messages.
    last_seen_at: epochMs(client.isListener ? openedAt : client.lastSeenAt),
    streams: client.hasOpenStream ? 1 : 0,
    in_flight: client.isListener ? 0 : client.inFlight,
  };
}

function excerptOf(text: string, redactor: Redactor): string {
  // A name of this length was truncated when the gateway received it, possibly within a secret.
  const wasCut = text.length === MAX_NAME_CHARS;
  return redactor.excerpt(text, MAX_TEXT, wasCut);
}

function stateOf(client: ListedClient): SessionRow['state'] {
  if (!client.isListener && client.inFlight > 0) return 'calling';
  return client.hasOpenStream ? 'listening' : 'idle';
}

function endpointOf({ target, profile }: ListedClient): string {
  if (profile !== undefined) return `/mcp/@${profile.name}`;
  return target === undefined ? '/mcp' : `/mcp/${target}`;
}

/**
 * Returns true if the session matches all terms. Compares the unredacted text, which is never sent: redaction
 * of ten thousand names would delay all calls.
 */
function matches(client: ListedClient, terms: readonly string[]): boolean {
  if (terms.length === 0) return true;
  const { name, version } = client.description;
  const clientText = `${name.slice(0, MAX_TEXT)} ${version.slice(0, MAX_TEXT)}`;
  const text =
    `sessions ${client.number} ${clientText} ${endpointOf(client)} ${client.era} ${stateOf(client)}`.toLowerCase();
  return terms.every((term) => text.includes(term));
}

function termsIn(filter: string): readonly string[] {
  return filter.toLowerCase().split(/\s+/).filter(Boolean).slice(0, MAX_TERMS);
}

/** Returns undefined unless the text has one to nine digits. */
export function wholeNumber(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/**
 * Converts a value of performance.now() to epoch milliseconds. Times stay in order, even if the wall clock is
 * set back.
 */
function epochMs(moment: number): number {
  return Math.round(performance.timeOrigin + moment);
}
