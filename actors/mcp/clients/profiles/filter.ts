// Selects a profile's servers and tools, from its entry in the gateway file and the current catalog. A
// pattern with `__` matches merged names (as listed at /mcp); if it starts with a server id, only names of
// this server. Other patterns match the tool names of every server. No pattern matches both: `read*` would
// otherwise include all tools of the server `reader`.

import type { Catalog } from '../../../../config/catalog/catalog-schema.ts';
import type { ProfileEntry } from '../../../../config/gateway-file/profile-schema.ts';
import { type ToolFilter, toolFilter } from '../aggregate/tool-filter.ts';
import { MergedNames } from '../aggregate/tool-names.ts';

export interface ProfileFilter {
  readonly servers: ReadonlySet<string>;
  isAllowed(server: string, tool: string): boolean;
}

/** Returns a profile's patterns for `loadToolFilters`, which must be awaited before `profileFilter`. */
export function patternsOf({ tools = ['*'] }: ProfileEntry): { allow: readonly string[]; deny: [] } {
  return { allow: tools, deny: [] };
}

/** Returns a profile's filter. */
export function profileFilter({ servers, tags, tools }: ProfileEntry, catalog: Catalog): ProfileFilter {
  const isEverything = servers === undefined && tags === undefined;
  const named = new Set(servers);
  const ids = Object.entries(catalog.servers).flatMap(([id, entry]) =>
    isEverything || named.has(id) || entry.tags.some((tag) => tags?.includes(tag)) ? [id] : [],
  );
  return { servers: new Set(ids), isAllowed: toolsAllowed(tools, catalog) };
}

function toolsAllowed(
  tools: readonly string[] | undefined,
  { servers }: Catalog,
): ProfileFilter['isAllowed'] {
  if (tools === undefined) return () => true;
  const names = new MergedNames(Object.keys(servers).filter((id) => servers[id]?.enabled !== false));
  const matchesToolName = anyOf(tools.filter((pattern) => !pattern.includes('__')));
  const mergedPatterns = tools.filter((pattern) => pattern.includes('__'));
  const filters = new Map<string, ToolFilter>();
  const filterFor = (server: string): ToolFilter => {
    // `owner` is the server whose id starts the pattern; undefined for a pattern such as `*__read`.
    const appliesTo = (owner: string | undefined) => owner === undefined || owner === server;
    const filter =
      filters.get(server) ?? anyOf(mergedPatterns.filter((pattern) => appliesTo(names.ownerOf(pattern))));
    filters.set(server, filter);
    return filter;
  };
  return (server, tool) => {
    if (matchesToolName(tool)) return true;
    const isMatch = filterFor(server);
    // A long or invalid name has a different listed name; a pattern may match either.
    const plain = `${server}__${tool}`;
    const listedName = names.namesOf(server, [tool]).get(tool) ?? plain;
    return isMatch(plain) || (listedName !== plain && isMatch(listedName));
  };
}

function anyOf(patterns: readonly string[]): ToolFilter {
  return patterns.length === 0 ? () => false : toolFilter({ allow: patterns, deny: [] });
}
