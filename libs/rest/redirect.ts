// Where an answer sends a request on to, and whether it may be followed there: within the origin only, since what the headers
// carry is for that one, and with what writes only where method and body stay.

import { RequestFault } from './request-fault.ts';

const MAX_REDIRECTS = 3;

/**
 * The next address after `count` redirects; undefined for an answer that names none.
 * @throws RequestFault where it must not be followed
 */
export function nextAddress(
  { status, headers }: Response,
  { from, isWrite, count }: { readonly from: URL; readonly isWrite: boolean; readonly count: number },
): URL | undefined {
  const location = headers.get('location');
  if (!location || ![301, 302, 303, 307, 308].includes(status) || !URL.canParse(location, from.href))
    return undefined;
  const target = new URL(location, from);
  const refused = (code: string, where: string) =>
    new RequestFault(`${from.host} sent the request ${where}, which was not followed`, {
      kind: 'redirected',
      code,
      // What is to be looked at elsewhere (303) was carried out.
      mayHaveArrived: isWrite && status === 303,
      status,
    });
  if (target.origin !== from.origin || target.username !== '' || target.password !== '')
    throw refused('elsewhere', 'on to another host');
  if (isWrite && status !== 307 && status !== 308) throw refused('moved', 'on to where it could only read');
  if (count === MAX_REDIRECTS) throw refused('circle', `on ${MAX_REDIRECTS + 1} times`);
  return target;
}
