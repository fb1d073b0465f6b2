// Prefixes of urls, by which a file limits a url that comes from an expression.
//
// Both sides are compared after the URL parser has normalised them, so a spelling of a host or a path cannot evade the comparison.

const DOT_SEGMENT = /^(?:\.|%2e){1,2}(?:;.*)?$/i;
const ENCODED_SLASH = /%2f|%5c/gi;

/** Returns the fault in the scheme, host or user name of a url; undefined without a fault. */
export function hostFault(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return 'is not an address of http or https';
  return url.username === '' && url.password === ''
    ? undefined
    : 'contains a user name: send credentials in a header';
}

/** Parses a prefix; returns the fault of an invalid one as text. */
export function readPrefix(text: string): URL | string {
  if (/[*{}]/.test(text)) return 'is compared as it is: it has no {{ }} and no *';
  const fault = hostFault(text);
  if (fault !== undefined) return fault;
  return /^[^?#]+\/$/.test(text) ? new URL(text) : 'should end with /, as https://api.example.com/v1/';
}

/** Returns true for a segment that servers resolve as `.` or `..`, some of them after decoding or without path parameters. */
export function isDotSegment(segment: string): boolean {
  return DOT_SEGMENT.test(segment);
}

/** Returns true for a url with the origin of a prefix and a path below it. */
export function isAllowed({ origin, pathname }: URL, prefixes: readonly URL[]): boolean {
  const segments = pathname.replace(ENCODED_SLASH, '/').split('/');
  if (segments.some(isDotSegment)) return false;
  return prefixes.some((prefix) => prefix.origin === origin && pathname.startsWith(prefix.pathname));
}
