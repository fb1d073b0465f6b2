// Returns the path of the next page, from the `Link` header. Only the query is used, because the token must
// not be sent to an address from a response.

import { nextLink } from '../../../libs/rest/link-header.ts';

/** Returns `path` with the query of the `next` link; undefined on the last page. */
export function nextPage(path: string, link: string | undefined): string | undefined {
  const target = nextLink(link) ?? '';
  const query = target.indexOf('?');
  return query === -1 ? undefined : `${path}${target.slice(query)}`;
}
