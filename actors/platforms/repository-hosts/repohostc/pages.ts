// The page after this one, which the host's lists name in themselves. Only its query is taken: a token is sent to the API it is for
// and to no other address, whatever an answer says.

import { textMember } from '../../payloads/payload-member.ts';

/** `path` with the query of the next page; undefined on the last one. */
export function pageAfter(path: string, list: unknown): string | undefined {
  const next = textMember(list, 'next') ?? '';
  const query = next.indexOf('?');
  return query === -1 ? undefined : `${path}${next.slice(query)}`;
}
