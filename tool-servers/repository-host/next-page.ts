// The page after this one, by the `Link` header. Only the number of the page is taken from it, never the address.

import { nextLink } from '../../libs/rest/link-header.ts';

/** The number of the next page; undefined on the last one. */
export function nextPageOf(link: string | undefined, page: number): number | undefined {
  const target = nextLink(link);
  if (target === undefined) return undefined;
  const named = Number(/[?&]page=(\d{1,9})(?:&|$)/.exec(target)?.[1]);
  return named > page ? named : page + 1;
}
