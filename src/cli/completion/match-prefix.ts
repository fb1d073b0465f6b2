// Filters completion candidates by their prefix.

/**
 * Returns the candidates that start with `word`. Ignores case only if no candidate matches exactly: Bash
 * deletes the typed text if the candidates differ in case.
 */
export function matchPrefix<Row extends readonly [word: string, ...rest: unknown[]]>(
  word: string,
  rows: readonly Row[],
): readonly Row[] {
  const exact = rows.filter(([each]) => each.startsWith(word));
  return exact.length > 0
    ? exact
    : rows.filter(([each]) => each.toLowerCase().startsWith(word.toLowerCase()));
}
