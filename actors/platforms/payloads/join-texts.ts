/** Joins nonblank texts as lines, up to `limit` characters. */
export function joinTexts(texts: readonly string[], limit: number): string {
  return texts
    .filter((text) => text.trim() !== '')
    .join('\n')
    .slice(0, limit);
}
