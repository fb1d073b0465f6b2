// Builds URL paths from untrusted parts. Each part stays within its segment, with any characters.

/**
 * path`/repos/${owner}/issues/${number}`: percent-encodes each value. Throws a RangeError if a segment is
 * invalid.
 */
export function path(texts: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return String.raw({ raw: texts }, ...values.map(segment));
}

/** Encodes a path segment. Throws a RangeError on invalid values. */
export function segment(value: string | number): string {
  const text = String(value);
  // Dots are never encoded, and URL parsers resolve such segments.
  if (/^\.{0,2}$/.test(text)) throw new RangeError('A part of an address is empty or consists of dots');
  if (!text.isWellFormed()) throw new RangeError('A part of an address contains half of a surrogate pair');
  return encodeURIComponent(text);
}
