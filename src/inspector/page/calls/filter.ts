// Filter of the call list in the address: `outcome` and `server`, and `before` for a later page.

import { listParams, withParam } from '../list-query.ts';

/** Values of the result filter; '' for all. */
export const resultChoices = ['', 'failed', 'slow'] as const;

/** Calls per page. */
const PAGE = 100;

/** Returns the parameters of GET /history/calls for a query; other parameters are ignored. */
export function requestParams(query: string): URLSearchParams {
  const params = listParams(query, ['outcome', 'before'], PAGE);
  const server = new URLSearchParams(query).get('server');
  // The API names this parameter `of`, because it also accepts other subjects than servers.
  if (server !== null && server !== '') params.set('of', `server:${server}`);
  return params;
}

/** Returns the query with another value, or without it for ''. A changed filter starts at the newest page. */
export function withValue(query: string, name: 'outcome' | 'server' | 'before', value: string): string {
  return withParam(name === 'before' ? query : withParam(query, 'before', ''), name, value);
}
