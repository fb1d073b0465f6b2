// Of candidates those that begin as a word does.

/** In whatever case where none begins so exactly: bash would take back what was typed where the cases of two differ. */
export function fittingWords<Row extends readonly [word: string, ...rest: unknown[]]>(
  word: string,
  rows: readonly Row[],
): readonly Row[] {
  const exact = rows.filter(([each]) => each.startsWith(word));
  return exact.length > 0
    ? exact
    : rows.filter(([each]) => each.toLowerCase().startsWith(word.toLowerCase()));
}
