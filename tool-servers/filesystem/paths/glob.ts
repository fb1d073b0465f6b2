// Glob patterns for the names and paths below a folder. Patterns come from a model and names from whoever may write files: they
// are matched in time linear in both (../../../globs).
//
// `*` any characters but `/`; `?` one; `[a-z]` `[!a-z]` sets; `{a,b}` alternatives; `**` as a whole segment any folders;
// `\` before a sign takes it literally. Names with a leading dot match like others. Upper and lower case differ.
//
// A pattern without `/` is for the name alone, at any depth; one with `/` for the whole path below the start.

import { compileGlobs as compile } from '../../../libs/globs/glob.ts';
import { ToolError } from '../../tool-error.ts';
import { MAX_PATTERN_CHARS, MAX_PATTERNS_CHARS } from '../limits.ts';

/** Whether a path matches; its segments are joined by `/` and relative to the start. */
export type Glob = (relative: string) => boolean;

/**
 * Whether a path matches any of `patterns`.
 * @throws ToolError when one leads out of the start or is too long, or when all together are
 */
export function compileGlobs(patterns: readonly string[]): Glob {
  const length = patterns.reduce((sum, pattern) => sum + pattern.length, 0);
  if (length > MAX_PATTERNS_CHARS)
    throw new ToolError(
      `The patterns have ${length} characters together; ${MAX_PATTERNS_CHARS} are allowed. Use fewer of them.`,
    );
  const matches = compile(patterns.map(fromTheStart), { kind: 'path' });
  return (relative) => matches(relative.normalize('NFC'));
}

/** Whether `pattern` is a plain name, without any sign that has a meaning. */
export function isPlainName(pattern: string): boolean {
  return !/[*?[\]{}\\/]/.test(pattern);
}

/** The same pattern for the whole path below the start. */
function fromTheStart(pattern: string): string {
  if (pattern.length > MAX_PATTERN_CHARS)
    throw new ToolError(
      `The pattern has ${pattern.length} characters; ${MAX_PATTERN_CHARS} are allowed. Shorten it, or search twice.`,
    );
  const plain = pattern
    .normalize('NFC')
    .replace(/^(\.\/)+/, '')
    .replace(/\/+$/, '');
  if (plain === '' || plain.startsWith('/'))
    throw new ToolError(
      `The pattern "${pattern}" is not relative. Give the folder as path, and a pattern for what is below it, such as "**/*.ts".`,
    );
  const parts = plain.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..'))
    throw new ToolError(
      `The pattern "${pattern}" leads out of the folder. Give that folder as path instead.`,
    );
  return plain.includes('/') ? parts.join('/') : `**/${plain}`;
}
