// The key that was probably meant. Case, `_` and `-` do not count, so `idleTimeoutSeconds` finds its field; a
// beginning (`idle_timeout`) finds it too.

/** The closest of `known`, or undefined when none is close. */
export function suggest(written: string, known: readonly string[]): string | undefined {
  const plain = flatten(written);
  if (plain === '' || plain.length > 64) return undefined;
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const target = flatten(candidate);
    const isBeginning = plain.length >= 4 && target.startsWith(plain);
    const distance = isBeginning ? 1 : editDistance(plain, target);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  // Of a word in which every sign is a slip nothing is left to go by.
  const most = Math.min(plain.length - 1, Math.max(1, Math.floor(plain.length / 3)));
  return bestDistance <= most ? best : undefined;
}

function flatten(key: string): string {
  return key.toLowerCase().replace(/[_-]/g, '');
}

/** How many slips lie between two words: a sign too many, too few or wrong, or two neighbours in the wrong order. */
export function editDistance(a: string, b: string): number {
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
