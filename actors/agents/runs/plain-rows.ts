// Rows of journals for those who show them: whatever stands in one, also of a later version, is an object with members that may be
// anything.

export type PlainRow = Readonly<Record<string, unknown>>;

/** Empty for what is none. */
export function plainRow(text: string): PlainRow {
  try {
    const row = JSON.parse(text) as PlainRow | null;
    return typeof row === 'object' && row !== null ? row : {};
  } catch {
    return {};
  }
}

/** The definition that a run of a flow or a fleet has begun with; undefined in any other row. */
export function definitionIn(
  text: string,
): { readonly kind: 'flow' | 'fleet'; readonly definition: string } | undefined {
  const { kind, in: at, definition } = plainRow(text);
  if ((kind !== 'flow' && kind !== 'fleet') || at !== undefined || typeof definition !== 'string')
    return undefined;
  return { kind, definition };
}
