// Parses a query for deliveries into a filter of the store. Every bound is checked here, so that a mistake gets an
// answer and every page has an end.

import { platformOf, typeNames } from '../../../config/resources/triggers/trigger-types.ts';
import { InvalidQueryError } from '../../errors.ts';
import type { DeliveryFilter, DeliveryState } from '../../store/delivery.ts';
import { oneOf, queryValues, wholeNumber } from './query-values.ts';

const STATES: readonly DeliveryState[] = [
  'queued',
  'running',
  'retrying',
  'held',
  'waiting',
  'done',
  'dead',
  'ignored',
];
/** Those that events can come from, and the rows of what goes out. */
const SOURCES = [...typeNames.map(platformOf), 'outbox'];
const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 50;
const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `state` (several by commas), `trigger`, `source`, `conversation`, `since` (ISO time, or `15m` ago), `before`, `limit`. */
export function deliveryFilter(query: string, now: number): DeliveryFilter {
  const asked = queryValues(query, known);
  const trigger = asked.get('trigger');
  const source = asked.get('source');
  const conversation = asked.get('conversation');
  const states = asked.get('state');
  const since = asked.get('since');
  const before = asked.get('before');
  return {
    limit: wholeNumber('limit', asked.get('limit') ?? String(DEFAULT_LIMIT), MAX_LIMIT),
    ...(states === undefined
      ? {}
      : { states: states.split(',').map((state) => oneOf('state', STATES, state)) }),
    ...(trigger === undefined ? {} : { trigger }),
    ...(source === undefined ? {} : { idPrefix: `${oneOf('source', SOURCES, source.toLowerCase())}:` }),
    ...(conversation === undefined ? {} : { keyPrefix: mailboxPrefix(conversation) }),
    ...(since === undefined ? {} : { since: instant(since, now) }),
    ...(before === undefined ? {} : { beforeSeq: wholeNumber('before', before, Number.MAX_SAFE_INTEGER) }),
  };
}

const known: readonly string[] = ['state', 'trigger', 'source', 'conversation', 'since', 'before', 'limit'];

/**
 * The agents' word for a conversation, which begins with that of its platform, or a mailbox's key as the records show it: that
 * begins with another word, whatever kinds of work there are.
 */
function mailboxPrefix(conversation: string): string {
  const [word = '', ...rest] = conversation.split('/');
  return rest.length > 0 && !platforms.has(word) ? conversation : `conversation/${conversation}`;
}

const platforms: ReadonlySet<string> = new Set(typeNames.map(platformOf));

function instant(text: string, now: number): number {
  const ago = /^([0-9]{1,6})([smhd])$/.exec(text);
  if (ago !== null) return now - Number(ago[1]) * (units[ago[2] ?? ''] ?? 0);
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(at)) return at;
  throw new InvalidQueryError(
    'since should be a time such as 2026-11-21T10:00:00Z, or a while ago such as 15m, 12h, 3d',
  );
}
