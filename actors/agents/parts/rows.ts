// Converts journal rows between a run and its parts (flow nodes, fleet members). The run's journal contains
// the rows of all parts, each with the path of its part in `in`. Nested parts have a joined path,
// `review/security`. A part reads its rows without its own path.

/** A row in the form that its part reads. */
export interface PartRow {
  /** JSON text; empty if the row contains only a state. */
  readonly text: string;
  /** State that the part stored with the row, for later attempts; null: removed, undefined: unchanged. */
  readonly storedState: string | null | undefined;
}

interface RowMembers {
  readonly in?: unknown;
  readonly kept?: unknown;
}

/** Kind of row that only stores a state. */
const KEPT_KIND = 'kept';
/** Row kind for parked parts, written by the run. */
const PARKED_KIND = 'parked';

/** Converts the rows of the part `path` for the journal of the run. */
export function rowsOfPart(
  path: string,
  texts: readonly string[],
  kept: string | null | undefined,
): readonly Readonly<Record<string, unknown>>[] {
  if (texts.length === 0) return kept === undefined ? [] : [{ in: path, kind: KEPT_KIND, kept }];
  return texts.map((text, index) => {
    const { in: inner, ...row } = JSON.parse(text) as RowMembers & Readonly<Record<string, unknown>>;
    const within = typeof inner === 'string' ? `${path}/${inner}` : path;
    const isLast = index === texts.length - 1;
    return { in: within, ...row, ...(isLast && kept !== undefined ? { kept } : {}) };
  });
}

/** Converts a run's row for the part `path`; returns undefined if the row belongs to a different part. */
export function partRow(
  path: string,
  row: Readonly<Record<string, unknown>> & RowMembers,
): PartRow | undefined {
  const { in: at, kept, ...rest } = row;
  if (typeof at !== 'string' || (at !== path && !at.startsWith(`${path}/`))) return undefined;
  // A nested part's row contains the state of that part.
  if (at !== path)
    return { text: JSON.stringify({ in: at.slice(path.length + 1), ...rest, kept }), storedState: undefined };
  if (rest.kind === PARKED_KIND) return undefined;
  const state = kept === null || typeof kept === 'string' ? kept : undefined;
  return { text: rest.kind === KEPT_KIND ? '' : JSON.stringify(rest), storedState: state };
}
