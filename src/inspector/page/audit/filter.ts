// Filter of the audit in the address: the members of a line, a time, and `before` for a later page.

import { listParams, withParam } from '../list-query.ts';

/** Filters by the text of a member, in the order of the form. */
export const textFilters = ['principal', 'action', 'target', 'outcome', 'since', 'until'] as const;
export type TextFilter = (typeof textFilters)[number];

/** Lines per page. */
const PAGE = 100;

/** Returns the parameters of GET /audit for a query; other parameters are ignored. */
export function auditParams(query: string): URLSearchParams {
  return listParams(query, [...textFilters, 'before'], PAGE);
}

/** Returns the query with another value, or without it for ''. A changed filter starts at the newest page. */
export function withAuditValue(query: string, name: TextFilter | 'before', value: string): string {
  return withParam(name === 'before' ? query : withParam(query, 'before', ''), name, value);
}
