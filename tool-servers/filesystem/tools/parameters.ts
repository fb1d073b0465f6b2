// Parameters shared by several tools.

import { z } from 'zod';
import { MAX_EXCLUDE_PATTERNS, MAX_PATH_CHARS } from '../limits.ts';

export function pathParameter(purpose: string) {
  return z
    .string()
    .min(1)
    .max(MAX_PATH_CHARS)
    .describe(`${purpose} Absolute, or relative to the first allowed directory.`);
}

export const excludePatterns = z
  .array(z.string().min(1))
  .max(MAX_EXCLUDE_PATTERNS)
  .default([])
  .describe(
    'Glob patterns to exclude, including everything below, for example ["node_modules", ".git", "docs/**"].',
  );

/** Annotations of read-only tools. All tools work on this machine only. */
export const readOnlyHints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
