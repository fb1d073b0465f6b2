// Merges the instructions of servers into one text, with the server ids as headings, in catalog order. Models
// read it with every conversation, so it is limited to MAX_TEXT characters, and MAX_EACH per server.

import type { ManagedServer } from '../../servers/managed-server.ts';

export const MAX_EACH = 4_000;
export const MAX_TEXT = 32_000;

const introduction =
  'This address combines several servers. Names of tools and prompts start with the id of their server and `__`; ' +
  'add this prefix to names in the instructions of a server.';

/** Returns the merged instructions; undefined if no server has any. */
export function mergeInstructions(servers: Iterable<ManagedServer>): string | undefined {
  const sections: string[] = [];
  let omittedCount = 0;
  let length = 0;
  for (const { id, cache } of servers) {
    // Strict clients reject a result with a lone surrogate.
    const text = truncate(cache.description?.instructions?.trim().toWellFormed() ?? '');
    if (text === '') continue;
    length += text.length;
    if (length <= MAX_TEXT) sections.push(`# ${id}\n\n${text}`);
    else omittedCount += 1;
  }
  if (sections.length === 0) return undefined;
  const rest =
    omittedCount === 0
      ? []
      : [`Omitted because of their length: the instructions of ${omittedCount} more servers.`];
  return [introduction, ...sections, ...rest].join('\n\n');
}

/** Returns the start of the text, never cut inside a character. */
function truncate(text: string): string {
  if (text.length <= MAX_EACH) return text;
  return `${text.slice(0, MAX_EACH - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
