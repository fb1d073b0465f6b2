// Parameters that several tools share, so that they are described and bounded alike.

import { z } from 'zod';
import { MAX_EXCLUDE_PATTERNS, MAX_PATH_CHARS } from '../limits.ts';

export function pathOf(what: string) {
  return z
    .string()
    .min(1)
    .max(MAX_PATH_CHARS)
    .describe(`${what} Absolute, or relative to the first allowed directory.`);
}

export const excludePatterns = z
  .array(z.string().min(1))
  .max(MAX_EXCLUDE_PATTERNS)
  .default([])
  .describe(
    'Glob patterns of what to leave out, with everything below it, such as ["node_modules", ".git", "docs/**"].',
  );

/** Hints of tools that only look. None of the tools reaches beyond this machine. */
export const readingHints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
