// Prepares the filters that all chats have (channels, users and patterns of a trigger's `spec.config`) for
// machines/matching.ts. The patterns were checked when the trigger was loaded, so each of them compiles.

import { compilePattern, type Pattern } from '../../../config/resources/fields/patterns.ts';
import type { Filters } from '../../../machines/matching.ts';

/** What of it a type of trigger has; the other fields of its config do not matter here. */
export interface ChatConfig {
  readonly channels?: readonly string[] | undefined;
  readonly users?: readonly string[] | undefined;
  readonly patterns?: readonly string[] | undefined;
}

/** To be made once per trigger: a pattern costs much to compile and little to match. */
export function chatFilters({ channels = [], users = [], patterns = [] }: ChatConfig): Filters {
  return {
    channels: new Set(channels.map((channel) => channel.replace(/^#/, ''))),
    users: new Set(users),
    patterns: patterns.map(compiled),
  };
}

/** A pattern that is none lets nothing pass. */
function compiled(source: string): Pattern {
  const pattern = compilePattern(source);
  return typeof pattern === 'function' ? pattern : () => false;
}
