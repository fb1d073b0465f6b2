// Compiles globs for matching with RE2; glob-expression.ts describes the syntax.

import { RE2JS } from 're2js';
import { type GlobKind, globExpression } from './glob-expression.ts';

export interface GlobOptions {
  readonly kind: GlobKind;
  /** Ignores upper and lower case. */
  readonly isCaseless?: boolean;
}

/** Returns a function that tests if a whole text matches any of the globs. */
export function compileGlobs(
  patterns: readonly string[],
  { kind, isCaseless = false }: GlobOptions,
): (text: string) => boolean {
  if (patterns.length === 0) return () => false;
  const source = patterns.map((pattern) => globExpression(pattern, kind)).join('|');
  const compiled = RE2JS.compile(source, RE2JS.DOTALL | (isCaseless ? RE2JS.CASE_INSENSITIVE : 0));
  return (text) => compiled.matches(text);
}
