// Which tools of a server clients may see and call: `tools: { allow, deny }` in the catalog. What matches the patterns is loaded
// where there are any: it would cost every other start 10 ms.

export type ToolFilter = (name: string) => boolean;

interface ToolPatterns {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/** The protocol asks for at most 128 characters; servers, and clients that call, may send millions. */
const MAX_NAME_LENGTH = 256;

let globs: typeof import('../../../../libs/globs/glob.ts') | undefined;

/** To be awaited before the tools of servers with these patterns are filtered. */
export async function loadToolFilters(patterns: readonly ToolPatterns[]): Promise<void> {
  if (globs === undefined && !patterns.every(isEverything))
    globs = await import('../../../../libs/globs/glob.ts');
}

/** A name beyond MAX_NAME_LENGTH is let through by no list of patterns. */
export function toolFilter(tools: ToolPatterns): ToolFilter {
  if (isEverything(tools)) return () => true;
  if (globs === undefined) throw new Error('tools are filtered before their filters were loaded');
  const isAllowed = globs.compileGlobs(tools.allow, { kind: 'text' });
  const isDenied = globs.compileGlobs(tools.deny, { kind: 'text' });
  return (name) => name.length <= MAX_NAME_LENGTH && isAllowed(name) && !isDenied(name);
}

function isEverything({ allow, deny }: ToolPatterns): boolean {
  return deny.length === 0 && allow.length === 1 && allow[0] === '*';
}
