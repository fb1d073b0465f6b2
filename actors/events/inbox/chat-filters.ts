// Compiles chat filters (channels, users and patterns in the `spec.config` of triggers) for
// machines/matching.ts. The patterns were checked when the trigger was loaded.

import { compilePattern, type Pattern } from '../../../config/resources/fields/patterns.ts';
import type { Filters } from '../../../machines/matching.ts';

/** Filter fields in the config of triggers. */
export interface ChatConfig {
  readonly channels?: readonly string[] | undefined;
  readonly users?: readonly string[] | undefined;
  readonly patterns?: readonly string[] | undefined;
}

/** Compiles the filters; call it once per trigger, since compiling is expensive and matching is cheap. */
export function chatFilters({ channels = [], users = [], patterns = [] }: ChatConfig): Filters {
  return {
    channels: new Set(channels.map((channel) => channel.replace(/^#/, ''))),
    users: new Set(users),
    patterns: patterns.map(compile),
  };
}

/** An invalid pattern matches nothing. */
function compile(source: string): Pattern {
  const pattern = compilePattern(source);
  return typeof pattern === 'function' ? pattern : () => false;
}
