// Rows of what runs within a run: each has the path of its part, and what the part itself would have written. A part within a part has both
// names, `review/security`; so one journal holds the rows of all, in the order in which they became durable.

/** A row of a part, as the part knows it. */
export interface PartRow {
  /** JSON text. */
  readonly text: string;
  /** What the part kept with it, for its attempts after this one; null: nothing any more, undefined: what was kept before. */
  readonly kept: string | null | undefined;
}

interface Written {
  readonly in?: unknown;
  readonly kept?: unknown;
}

/** Written where a part keeps a state and has no row that could bring it. */
const KEPT = 'kept';
/** Written of a part, not by it. */
const PARKED = 'parked';

/** Returns the rows of the part `path` as the journal of the run has them. */
export function rowsOfPart(
  path: string,
  texts: readonly string[],
  kept: string | null | undefined,
): readonly Readonly<Record<string, unknown>>[] {
  if (texts.length === 0) return kept === undefined ? [] : [{ in: path, kind: KEPT, kept }];
  return texts.map((text, index) => {
    const { in: inner, ...row } = JSON.parse(text) as Written & Readonly<Record<string, unknown>>;
    const within = typeof inner === 'string' ? `${path}/${inner}` : path;
    const isLast = index === texts.length - 1;
    return { in: within, ...row, ...(isLast && kept !== undefined ? { kept } : {}) };
  });
}

/** As that part knows it; undefined for a row of the run itself, or of another part. */
export function partRow(path: string, row: Readonly<Record<string, unknown>> & Written): PartRow | undefined {
  const { in: at, kept, ...rest } = row;
  if (typeof at !== 'string' || (at !== path && !at.startsWith(`${path}/`))) return undefined;
  if (at === path && rest.kind === PARKED) return undefined;
  const inner = at === path ? {} : { in: at.slice(path.length + 1) };
  const state = kept === null || typeof kept === 'string' ? kept : undefined;
  if (at === path && rest.kind === KEPT) return { text: '', kept: state };
  // What a part of the part has kept stays with its row.
  const text = JSON.stringify(
    at === path ? rest : { ...inner, ...rest, ...(kept === undefined ? {} : { kept }) },
  );
  return { text, kept: at === path ? state : undefined };
}
