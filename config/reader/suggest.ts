// Suggests the known key that is most similar to an unknown key, for messages. Ignores case, `_` and `-`, so
// `idleTimeoutSeconds` matches `idle_timeout_seconds`. A prefix (`idle_timeout`) matches too.

/** Returns the closest of `known`, or undefined if none is close. */
export function suggest(written: string, known: readonly string[]): string | undefined {
  const plain = flatten(written);
  if (plain === '' || plain.length > 64) return undefined;
  // At least one character must match.
  const maxDistance = Math.min(plain.length - 1, Math.max(1, Math.floor(plain.length / 3)));
  let best: string | undefined;
  let bestDistance = maxDistance + 1;
  for (const candidate of known) {
    const target = flatten(candidate);
    const isBeginning = plain.length >= 4 && target.startsWith(plain);
    if (!isBeginning && Math.abs(target.length - plain.length) >= bestDistance) continue;
    const distance = isBeginning ? 1 : editDistance(plain, target);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

function flatten(key: string): string {
  return key.toLowerCase().replace(/[_-]/g, '');
}

/** Returns the edit distance: insertions, deletions, replacements, and swaps of neighbours. */
export function editDistance(a: string, b: string): number {
  // `row` contains the distances between the first `i` characters of `a` and each beginning of `b`. `before`
  // is the row for one character less.
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  let before: readonly number[] = [];
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : replaced;
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
