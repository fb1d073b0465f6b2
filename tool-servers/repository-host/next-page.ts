// Next page of a list, from the `Link` header. Only the page number is used, never the address.

import { nextLink } from '../../libs/rest/link-header.ts';

/** Returns the number of the next page; undefined on the last page. */
export function nextPageOf(link: string | undefined, page: number): number | undefined {
  const target = nextLink(link);
  if (target === undefined) return undefined;
  const number = Number(/[?&]page=(\d{1,9})(?:&|$)/.exec(target)?.[1]);
  return number > page ? number : page + 1;
}
