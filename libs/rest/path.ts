// Addresses below an API, put together of parts that others have chosen.
//
// PA1  each part is one segment, or a piece of one, whatever characters it has: it leads nowhere else.

/** path`/repos/${owner}/issues/${number}`: each value is percent-encoded. Throws a RangeError for one that cannot be a segment. */
export function path(texts: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return String.raw({ raw: texts }, ...values.map(segment));
}

/** One part of an address. Throws a RangeError for what cannot be one. */
export function segment(value: string | number): string {
  const text = String(value);
  // Dots are never encoded, and the parser of addresses takes such a segment for a way up.
  if (/^\.{0,2}$/.test(text)) throw new RangeError('A part of an address is empty, or consists of dots');
  if (!text.isWellFormed()) throw new RangeError('A part of an address holds half of a character');
  return encodeURIComponent(text);
}
