// How the tools of this server answer, and what their hints can be.

import type { ToolAnswer, ToolHints } from '../../tool.ts';

/** The text is the structured content as compact JSON; nothing is said twice in other words. */
export function answer<Structured extends object>(structured: Structured): ToolAnswer<Structured> {
  return { text: JSON.stringify(structured), structured };
}

export const reads: ToolHints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: true,
};

/** Makes something new; calling it again makes another one, or fails. */
export const adds: ToolHints = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: true,
};

/** Brings about a state; calling it again changes nothing more. */
export const ensures: ToolHints = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: true,
};

/** Replaces what was there. */
export const replaces: ToolHints = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};
