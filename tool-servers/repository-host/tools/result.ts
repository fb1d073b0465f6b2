// Output format and annotations of the tools.

import type { ServerToolHints, ServerToolOutput } from '../../tool.ts';

/** Returns the structured content, with the same data as compact JSON text. */
export function jsonOutput<Structured extends object>(structured: Structured): ServerToolOutput<Structured> {
  return { text: JSON.stringify(structured), structured };
}

export const readHints: ServerToolHints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: true,
};

/** For tools that create data. A repeated call creates more data, or fails. */
export const addHints: ServerToolHints = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: true,
};

/** For tools that set a state. A repeated call changes nothing. */
export const ensureHints: ServerToolHints = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: true,
};

/** For tools that replace existing data. */
export const replaceHints: ServerToolHints = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};
