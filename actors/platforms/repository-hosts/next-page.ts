// The page after this one, by the `Link` header. Only its query is taken: a token is sent to the API it is for and to no other
// address, whatever an answer says.

import { nextLink } from '../../../libs/rest/link-header.ts';

/** `path` with the query of the link whose relation is `next`; undefined on the last page. */
export function nextPage(path: string, link: string | undefined): string | undefined {
  const target = nextLink(link) ?? '';
  const query = target.indexOf('?');
  return query === -1 ? undefined : `${path}${target.slice(query)}`;
}
