// Decides if the client follows a redirect: only within the origin, because the headers may contain a
// credential. A write is followed only if the redirect keeps its method and body.

import { RequestFault } from './request-fault.ts';
import type { HeaderValues } from './retry-after.ts';

const MAX_REDIRECTS = 3;

/**
 * Returns the next address after `count` redirects; undefined if there is no redirect.
 * @throws RequestFault if the redirect is forbidden
 */
export function nextAddress(
  { status, headers }: { readonly status: number; readonly headers: HeaderValues },
  { from, isWrite, count }: { readonly from: URL; readonly isWrite: boolean; readonly count: number },
): URL | undefined {
  const location = headers.get('location');
  if (!location || ![301, 302, 303, 307, 308].includes(status) || !URL.canParse(location, from.href))
    return undefined;
  const target = new URL(location, from);
  const refused = (code: string, where: string) =>
    new RequestFault(`${from.host} redirected the request ${where}, which was not followed`, {
      kind: 'redirected',
      code,
      // 303: the request was carried out; the result is at another address.
      mayHaveArrived: isWrite && status === 303,
      status,
    });
  const hasOtherCredentials =
    `${target.username}${target.password}` !== '' &&
    (target.username !== from.username || target.password !== from.password);
  if (target.origin !== from.origin || hasOtherCredentials) throw refused('elsewhere', 'to another host');
  if (isWrite && status !== 307 && status !== 308) throw refused('moved', 'with another method');
  if (count === MAX_REDIRECTS) throw refused('circle', `${MAX_REDIRECTS + 1} times`);
  return target;
}
