// Parameters of GET /audit.

import type { AuditFilter } from '../../../actors/audit/query-lines.ts';
import { parseQuery, parseTime, parseWholeNumber } from '../../../actors/base/errors/query-values.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1_000;
const TEXTS = ['principal', 'action', 'target', 'outcome'] as const;

/** Throws InvalidQueryError. */
export function auditFilter(query: string): AuditFilter {
  const values = parseQuery(query, [...TEXTS, 'since', 'until', 'before', 'limit']);
  const [since, until] = ['since', 'until'].map((name) => values.get(name));
  const before = values.get('before');
  const now = Date.now();
  return {
    ...Object.fromEntries(TEXTS.map((name) => [name, values.get(name)])),
    since: since === undefined ? undefined : parseTime(since, now),
    until: until === undefined ? undefined : parseTime(until, now),
    before: before === undefined ? undefined : parseWholeNumber('before', before, Number.MAX_SAFE_INTEGER),
    limit: parseWholeNumber('limit', values.get('limit') ?? String(DEFAULT_LIMIT), MAX_LIMIT),
  };
}
