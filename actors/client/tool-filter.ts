// Which tools of a server clients may see and call: `tools: { allow, deny }` in the catalog, as globs.

import picomatch from 'picomatch';

export type ToolFilter = (name: string) => boolean;

export function toolFilter(tools: {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}): ToolFilter {
  if (tools.deny.length === 0 && tools.allow.length === 1 && tools.allow[0] === '*') return () => true;
  // Tool names are no paths: a `*` takes a slash and a leading dot too.
  const options = { dot: true, bash: true, nonegate: true };
  const isAllowed = picomatch([...tools.allow], options);
  const isDenied = picomatch([...tools.deny], options);
  return (name) => isAllowed(name) && !isDenied(name);
}
