// A profile's servers and tools, from its entry in the gateway file and the catalog in force.
//
// A pattern with `__` matches names at /mcp; with a server id as prefix, only that server's names. Other patterns
// match tool names. Matching each pattern against both would admit too much: `read*` would include all tools of `reader`.

import type { Catalog } from '../../../../config/catalog/catalog-schema.ts';
import type { ProfileEntry } from '../../../../config/gateway-file/profile-schema.ts';
import { type ToolFilter, toolFilter } from '../aggregate/tool-filter.ts';
import { MergedNames } from '../aggregate/tool-names.ts';

export interface ProfileFilter {
  readonly servers: ReadonlySet<string>;
  isAllowed(server: string, tool: string): boolean;
}

/** Its patterns as `loadToolFilters` takes them, which has to be awaited before `profileFilter`. */
export function patternsOf({ tools = ['*'] }: ProfileEntry): { allow: readonly string[]; deny: [] } {
  return { allow: tools, deny: [] };
}

/** The filter of a profile. */
export function profileFilter({ servers, tags, tools }: ProfileEntry, catalog: Catalog): ProfileFilter {
  const isEverything = servers === undefined && tags === undefined;
  const ids = Object.entries(catalog.servers).flatMap(([id, entry]) =>
    isEverything || servers?.includes(id) || entry.tags.some((tag) => tags?.includes(tag)) ? [id] : [],
  );
  return { servers: new Set(ids), isAllowed: toolsAllowed(tools, catalog) };
}

function toolsAllowed(
  tools: readonly string[] | undefined,
  { servers }: Catalog,
): ProfileFilter['isAllowed'] {
  if (tools === undefined) return () => true;
  const names = new MergedNames(Object.keys(servers).filter((id) => servers[id]?.enabled !== false));
  const isOwn = anyOf(tools.filter((pattern) => !pattern.includes('__')));
  const seen = tools.filter((pattern) => pattern.includes('__'));
  const filters = new Map<string, ToolFilter>();
  const filterFor = (server: string): ToolFilter => {
    const isMeant = (owner: string | undefined) => owner === undefined || owner === server;
    const filter = filters.get(server) ?? anyOf(seen.filter((pattern) => isMeant(names.ownerOf(pattern))));
    filters.set(server, filter);
    return filter;
  };
  return (server, tool) => {
    if (isOwn(tool)) return true;
    const isSeen = filterFor(server);
    // A name that does not fit is shown in another form; both can be written.
    const plain = `${server}__${tool}`;
    const shown = names.namesOf(server, [tool]).get(tool) ?? plain;
    return isSeen(plain) || (shown !== plain && isSeen(shown));
  };
}

function anyOf(patterns: readonly string[]): ToolFilter {
  return patterns.length === 0 ? () => false : toolFilter({ allow: patterns, deny: [] });
}
