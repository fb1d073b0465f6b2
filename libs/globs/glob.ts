// Globs made ready to be matched, by RE2: see glob-expression.ts for what they may say.

import { RE2JS } from 're2js';
import { type GlobKind, globExpression } from './glob-expression.ts';

export interface GlobOptions {
  readonly kind: GlobKind;
  /** Upper and lower case are the same. */
  readonly isCaseless?: boolean;
}

/** Whether a text, as a whole, is one that any of the globs stands for. */
export function compileGlobs(
  patterns: readonly string[],
  { kind, isCaseless = false }: GlobOptions,
): (text: string) => boolean {
  if (patterns.length === 0) return () => false;
  const source = patterns.map((pattern) => globExpression(pattern, kind)).join('|');
  const compiled = RE2JS.compile(source, RE2JS.DOTALL | (isCaseless ? RE2JS.CASE_INSENSITIVE : 0));
  return (text) => compiled.matches(text);
}
