// Filters the tools that clients may list and call (`tools: { allow, deny }` in the catalog). The pattern
// matcher is loaded only if patterns exist; it would delay every start by 10 ms.

export type ToolFilter = (name: string) => boolean;

interface FilterPatterns {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/**
 * Longer names never match a pattern. The protocol recommends up to 128 characters, but peers may send
 * millions.
 */
const MAX_NAME_LENGTH = 256;

/** The pattern matcher; undefined until it is loaded. */
let globs: typeof import('../../../../libs/globs/glob.ts') | undefined;

/** Loads the pattern matcher if necessary. Await it before `toolFilter`. */
export async function loadToolFilters(patterns: readonly FilterPatterns[]): Promise<void> {
  if (globs === undefined && !patterns.every(isEverything))
    globs = await import('../../../../libs/globs/glob.ts');
}

/** Returns the filter. With patterns it rejects names over MAX_NAME_LENGTH. */
export function toolFilter(tools: FilterPatterns): ToolFilter {
  if (isEverything(tools)) return () => true;
  if (globs === undefined) throw new Error('await loadToolFilters before toolFilter');
  const isAllowed = globs.compileGlobs(tools.allow, { kind: 'text' });
  const isDenied = globs.compileGlobs(tools.deny, { kind: 'text' });
  return (name) => name.length <= MAX_NAME_LENGTH && isAllowed(name) && !isDenied(name);
}

function isEverything({ allow, deny }: FilterPatterns): boolean {
  return deny.length === 0 && allow.length === 1 && allow[0] === '*';
}
