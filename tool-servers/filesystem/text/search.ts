// Linear-time search (Knuth, Morris and Pratt). Text and pattern come from a model, and `indexOf` takes half
// a minute for some texts with ten thousand characters. Matches may overlap.

/** Up to this pattern length, `indexOf` is fast for all texts. */
const SHORT_CHARS = 250;

/** Returns the first `limit` positions of `pattern` (not empty) in `text`. */
export function findOccurrences(text: string, pattern: string, limit: number): number[] {
  if (pattern.length > SHORT_CHARS)
    return search(
      text.length,
      pattern.length,
      limit,
      (at, inPattern) => text.charCodeAt(at) === pattern.charCodeAt(inPattern),
      (one, other) => pattern.charCodeAt(one) === pattern.charCodeAt(other),
    );
  const positions: number[] = [];
  for (
    let at = text.indexOf(pattern);
    at >= 0 && positions.length < limit;
    at = text.indexOf(pattern, at + 1)
  )
    positions.push(at);
  return positions;
}

/** Returns the first position of `pattern` (not empty) in `lines`, as consecutive whole lines. */
export function findLines(lines: readonly string[], pattern: readonly string[]): number | undefined {
  return search(
    lines.length,
    pattern.length,
    1,
    (at, inPattern) => lines[at] === pattern[inPattern],
    (one, other) => pattern[one] === pattern[other],
  )[0];
}

function search(
  length: number,
  patternLength: number,
  limit: number,
  matches: (at: number, inPattern: number) => boolean,
  isRepeated: (one: number, other: number) => boolean,
): number[] {
  /** Failure table: per pattern position, length of the longest proper prefix that is also a suffix. */
  const borders = new Int32Array(patternLength);
  for (let at = 1, matched = 0; at < patternLength; at++) {
    while (matched > 0 && !isRepeated(at, matched)) matched = borders[matched - 1] ?? 0;
    if (isRepeated(at, matched)) matched++;
    borders[at] = matched;
  }
  const positions: number[] = [];
  for (let at = 0, matched = 0; at < length && positions.length < limit; at++) {
    while (matched > 0 && !matches(at, matched)) matched = borders[matched - 1] ?? 0;
    if (matches(at, matched)) matched++;
    if (matched < patternLength) continue;
    positions.push(at - patternLength + 1);
    matched = borders[matched - 1] ?? 0;
  }
  return positions;
}
