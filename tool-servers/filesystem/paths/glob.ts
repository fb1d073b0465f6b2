// Glob patterns for names and paths below a folder. Patterns come from a model and names from anyone with
// write access, so the matcher runs in linear time (libs/globs).
//
// Syntax: `*` any characters except `/`; `?` one character; `[a-z]` and `[!a-z]` sets; `{a,b}` alternatives;
// `**` as a whole segment: any number of folders; `\` escapes a character. A leading dot is not special.
// Matching is case-sensitive.
//
// A pattern without `/` matches names at any depth. A pattern with `/` matches the whole path, relative to
// the start folder.

import { compileGlobs as compile } from '../../../libs/globs/glob.ts';
import { ToolError } from '../../tool-error.ts';
import { MAX_PATTERN_CHARS, MAX_PATTERNS_CHARS } from '../limits.ts';

/** Returns true if a path matches. Paths are relative to the start folder and joined by `/`. */
export type Glob = (relative: string) => boolean;

/**
 * Compiles `patterns`; the result is true for a path that matches one of them.
 * @throws ToolError if a pattern or the list exceeds its length limit, or a pattern contains `..`
 */
export function compileGlobs(patterns: readonly string[]): Glob {
  const length = patterns.reduce((sum, pattern) => sum + pattern.length, 0);
  if (length > MAX_PATTERNS_CHARS)
    throw new ToolError(
      `The patterns have ${length} characters in total; the limit is ${MAX_PATTERNS_CHARS}. Use fewer patterns.`,
    );
  const matches = compile(patterns.map(toFullPattern), { kind: 'path' });
  return (relative) => matches(relative.normalize('NFC'));
}

/** True if `pattern` is a plain name without wildcards. */
export function isPlainName(pattern: string): boolean {
  return !/[*?[\]{}\\/]/.test(pattern);
}

/** Returns the pattern for whole relative paths. */
function toFullPattern(pattern: string): string {
  if (pattern.length > MAX_PATTERN_CHARS)
    throw new ToolError(
      `The pattern has ${pattern.length} characters; the limit is ${MAX_PATTERN_CHARS}. Shorten it, or search twice.`,
    );
  const plain = pattern
    .normalize('NFC')
    .replace(/^(\.\/)+/, '')
    .replace(/\/+$/, '');
  if (plain === '' || plain.startsWith('/'))
    throw new ToolError(
      `The pattern "${pattern}" is not relative. Pass the folder as path, and a pattern relative to it, such as "**/*.ts".`,
    );
  const parts = plain.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..'))
    throw new ToolError(`The pattern "${pattern}" leaves the folder. Pass the other folder as path instead.`);
  return plain.includes('/') ? parts.join('/') : `**/${plain}`;
}
