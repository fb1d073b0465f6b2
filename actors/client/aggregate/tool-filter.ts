// Which tools of a server clients may see and call: `tools: { allow, deny }` in the catalog.

import { namePattern } from './name-pattern.ts';

export type ToolFilter = (name: string) => boolean;

/** The protocol asks for at most 128 characters; servers, and clients that call, may send millions. */
const MAX_NAME_LENGTH = 256;

/** What a pattern stands for: name-pattern.ts. A name beyond MAX_NAME_LENGTH is let through by no list of patterns. */
export function toolFilter(tools: {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}): ToolFilter {
  if (tools.deny.length === 0 && tools.allow.length === 1 && tools.allow[0] === '*') return () => true;
  const allowed = tools.allow.map(namePattern);
  const denied = tools.deny.map(namePattern);
  return (name) =>
    name.length <= MAX_NAME_LENGTH &&
    allowed.some((isIt) => isIt(name)) &&
    !denied.some((isIt) => isIt(name));
}
