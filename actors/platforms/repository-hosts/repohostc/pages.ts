// Returns the path of the next page, from the list itself. Only the query is used, because the token must not
// be sent to an address from a response.

import { textMember } from '../../payloads/payload-member.ts';

/** Returns `path` with the query of the next page; undefined on the last page. */
export function pageAfter(path: string, list: unknown): string | undefined {
  const next = textMember(list, 'next') ?? '';
  const query = next.indexOf('?');
  return query === -1 ? undefined : `${path}${next.slice(query)}`;
}
