// Allowed url prefixes.
//
// The URL parser normalises both sides before the comparison, so an unusual spelling cannot evade it.

const DOT_SEGMENT = /^(?:\.|%2e){1,2}(?:(?:;|%3b).*)?$/i;
const ENCODED_SLASH = /%2f|%5c/gi;

/** Returns the fault in scheme, host or user name, or undefined. */
export function hostFault(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return 'is not an address of http or https';
  return url.username === '' && url.password === ''
    ? undefined
    : 'contains a user name: send credentials in a header';
}

/** Parses a prefix; returns the fault of an invalid one as text. */
export function readPrefix(text: string): URL | string {
  if (/[*{}]/.test(text)) return 'is compared literally: remove {{ }} and *';
  const fault = hostFault(text);
  if (fault !== undefined) return fault;
  return /^[^?#]+\/$/.test(text) ? new URL(text) : 'should end with /, as https://api.example.com/v1/';
}

/**
 * Finds a segment that servers resolve as `.` or `..`, also after decoding and removal of path parameters. Some servers
 * and proxies decode `%2F` and `%5C` first.
 */
export function findDotSegment(path: string): string | undefined {
  return path
    .replace(ENCODED_SLASH, '/')
    .split('/')
    .find((segment) => DOT_SEGMENT.test(segment));
}

/** Returns true if origin and path match an allowed prefix. */
export function isAllowed({ origin, pathname }: URL, prefixes: readonly URL[]): boolean {
  if (findDotSegment(pathname) !== undefined) return false;
  return prefixes.some((prefix) => prefix.origin === origin && pathname.startsWith(prefix.pathname));
}
