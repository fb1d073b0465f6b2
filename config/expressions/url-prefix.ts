// Prefixes of addresses: what a file allows a url to lead to.
//
// Both sides are compared after the URL parser has normalised them, so a spelling of a host or a path cannot evade the comparison.

const DOT_SEGMENT = /^(?:\.|%2e){1,2}(?:;.*)?$/i;
const ENCODED_SLASH = /%2f|%5c/gi;

/** Returns why no request can be sent to the scheme and host of a url; undefined where one can. */
export function hostFault(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return 'is not an address of http or https';
  return url.username === '' && url.password === ''
    ? undefined
    : 'contains a user name: send credentials in a header';
}

/** Returns the prefix, or what is wrong with it. */
export function readPrefix(text: string): URL | string {
  if (/[*{}]/.test(text)) return 'is compared as it is: it has no {{ }} and no *';
  const fault = hostFault(text);
  if (fault !== undefined) return fault;
  return /^[^?#]+\/$/.test(text) ? new URL(text) : 'should end with /, as https://api.example.com/v1/';
}

/** Whether a server may resolve a segment as `.` or `..`, after it has decoded it and removed its path parameters. */
export function isDotSegment(segment: string): boolean {
  return DOT_SEGMENT.test(segment);
}

/** Whether the url has the origin of a prefix, and a path below it. */
export function isAllowed({ origin, pathname }: URL, prefixes: readonly URL[]): boolean {
  const segments = pathname.replace(ENCODED_SLASH, '/').split('/');
  if (segments.some(isDotSegment)) return false;
  return prefixes.some((prefix) => prefix.origin === origin && pathname.startsWith(prefix.pathname));
}
