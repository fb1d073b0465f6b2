// Parses a query for deliveries into a filter of the store. Every bound is checked here, so that a mistake gets an
// answer and every page has an end.

import { platformOf, typeNames } from '../../../config/resources/triggers/trigger-types.ts';
import { instant, oneOf, queryValues, wholeNumber } from '../../base/errors/query-values.ts';
import type { DeliveryFilter, DeliveryState } from '../../store/delivery.ts';

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
