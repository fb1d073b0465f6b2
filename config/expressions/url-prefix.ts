// Checks URLs against allowed prefixes. The URL parser normalises both sides, so unusual notations cannot
// bypass the check.

const DOT_SEGMENT = /^(?:\.|%2e){1,2}(?:(?:;|%3b).*)?$/i;
const ENCODED_SLASH = /%2f|%5c/gi;

/** Returns the problem with scheme, host or user name, if any. Completes "FIELD …". */
export function hostFault(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return 'is not an http or https address';
  return url.username === '' && url.password === ''
    ? undefined
    : 'contains a user name: send credentials in a header';
}

/** Parses a prefix. Returns an error message if it is invalid. */
export function readPrefix(text: string): URL | string {
  if (/[*{}]/.test(text)) return 'is compared literally: remove {{ }} and *';
  const fault = hostFault(text);
  if (fault !== undefined) return fault;
  return /^[^?#]+\/$/.test(text) ? new URL(text) : 'should end with /, as https://api.example.com/v1/';
}

/**
 * Returns a segment that servers resolve as `.` or `..`, also after decoding and removal of path parameters.
 * Some servers and proxies decode `%2F` and `%5C` first.
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
