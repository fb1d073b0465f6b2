// Merges the instructions of all servers into one text, each under the id of its server, in the order of the catalog, so
// that the same servers give the same text. Models read it with every conversation, so it is bounded.
//
// I1  the text has at most MAX_TEXT characters of instructions, and of no server more than MAX_EACH.

import type { ManagedServer } from '../../servers/managed-server.ts';

export const MAX_EACH = 4_000;
export const MAX_TEXT = 32_000;

const lead =
  'Several servers behind one address. The names of a server’s tools and prompts begin with its id and `__`; ' +
  'where its instructions name one, put that before it.';

/** The `instructions` of all servers; undefined when none of them is known to give any. */
export function mergedInstructions(servers: Iterable<ManagedServer>): string | undefined {
  const sections: string[] = [];
  let leftOut = 0;
  let length = 0;
  for (const { id, cache } of servers) {
    // Strict clients reject a result with a lone surrogate.
    const text = beginning(cache.description?.instructions?.trim().toWellFormed() ?? '');
    if (text === '') continue;
    length += text.length;
    if (length <= MAX_TEXT) sections.push(`# ${id}\n\n${text}`);
    else leftOut += 1;
  }
  if (sections.length === 0) return undefined;
  const rest = leftOut === 0 ? [] : [`Left out for their length: those of ${leftOut} more.`];
  return [lead, ...sections, ...rest].join('\n\n');
}

/** Never cut inside a character. */
function beginning(text: string): string {
  if (text.length <= MAX_EACH) return text;
  return `${text.slice(0, MAX_EACH - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
