// The page after this one, by the `Link` header (RFC 8288). Only its query is taken: a token is sent to the API it is for
// and to no other address, whatever an answer says.

/** `path` with the query of the link whose relation is `next`; undefined on the last page. */
export function nextPage(path: string, link: string | undefined): string | undefined {
  const target = /<([^<>]*)>\s*;[^,<]*\brel="?next"?/.exec(link ?? '')?.[1];
  const query = target === undefined ? -1 : target.indexOf('?');
  return target === undefined || query === -1 ? undefined : `${path}${target.slice(query)}`;
}
