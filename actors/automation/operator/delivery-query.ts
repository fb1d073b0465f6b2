// Parses a query for deliveries into a store filter. All limits are checked here, so that errors are reported
// and pages are bounded.

import { platformOf, typeNames } from '../../../config/resources/triggers/trigger-types.ts';
import { parseChoice, parseQuery, parseTime, parseWholeNumber } from '../../base/errors/query-values.ts';
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
/** Sources of events, and `outbox` for outbound messages. */
const SOURCES = [...typeNames.map(platformOf), 'outbox'];
const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 50;

/**
 * Parses `state` (comma-separated), `trigger`, `source`, `conversation`, `since` (ISO time, or `15m` ago),
 * `before` (sequence number: selects older deliveries) and `limit`.
 */
export function deliveryFilter(query: string, now: number): DeliveryFilter {
  const params = parseQuery(query, fieldNames);
  const trigger = params.get('trigger');
  const source = params.get('source');
  const conversation = params.get('conversation');
  const states = params.get('state');
  const since = params.get('since');
  const before = params.get('before');
  return {
    limit: parseWholeNumber('limit', params.get('limit') ?? String(DEFAULT_LIMIT), MAX_LIMIT),
    ...(states === undefined
      ? {}
      : { states: states.split(',').map((state) => parseChoice('state', STATES, state)) }),
    ...(trigger === undefined ? {} : { trigger }),
    ...(source === undefined ? {} : { idPrefix: `${parseChoice('source', SOURCES, source.toLowerCase())}:` }),
    ...(conversation === undefined ? {} : { keyPrefix: mailboxPrefix(conversation) }),
    ...(since === undefined ? {} : { since: parseTime(since, now) }),
    ...(before === undefined
      ? {}
      : { beforeSeq: parseWholeNumber('before', before, Number.MAX_SAFE_INTEGER) }),
  };
}

const fieldNames: readonly string[] = [
  'state',
  'trigger',
  'source',
  'conversation',
  'since',
  'before',
  'limit',
];

/**
 * Returns the key prefix for `conversation`: a conversation name or delivery key. A name as agents
 * receive it starts with a platform (`repohost/…`). A key starts with a kind of work (`outbox/…`).
 */
function mailboxPrefix(conversation: string): string {
  const [prefix = '', ...rest] = conversation.split('/');
  return rest.length > 0 && !platforms.has(prefix) ? conversation : `conversation/${conversation}`;
}

const platforms: ReadonlySet<string> = new Set(typeNames.map(platformOf));
