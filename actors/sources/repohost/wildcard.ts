// Wildcards in names of repositories and branches, as config/resources/wildcards.ts describes their form. Whoever opens a
// pull request from a copy of a repository chooses the name of a branch that is matched here, so matching must take time
// that is linear in the name: a backtracking matcher stands still for seconds over four stars and a name made for it.

import { RE2JS } from 're2js';

interface WildcardOptions {
  /** Upper and lower case are the same. */
  readonly isCaseless?: boolean;
}

/** `**` with the slash that belongs to it, a lone star or question mark, or what stands for itself. */
const parts = /(?<=^|\/)\*\*\/|\/\*\*$|\*+|\?|[^*?/]+|\//g;

/** Whether a name, as a whole, is one that any of the patterns stands for. */
export function wildcards(
  patterns: readonly string[],
  { isCaseless = false }: WildcardOptions = {},
): (name: string) => boolean {
  const source = patterns.map((pattern) => pattern.replaceAll(parts, expressionOf)).join('|');
  const flags = RE2JS.DOTALL | (isCaseless ? RE2JS.CASE_INSENSITIVE : 0);
  const compiled = RE2JS.compile(source, flags);
  return (name) => compiled.matches(name);
}

function expressionOf(part: string): string {
  if (part === '*') return '[^/]*';
  if (part === '?') return '[^/]';
  // No segment at all will do, too: `**/x` is `x` as well, and `x/**` is.
  if (part === '**/') return '(?:.*/)?';
  if (part === '/**') return '(?:/.*)?';
  return part.startsWith('*') ? '.*' : RE2JS.quote(part);
}
