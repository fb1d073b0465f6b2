// Which servers and tools a profile has, as it is written and with the catalog that is in force.
//
// A pattern with `__` is of names as clients see them at /mcp, any other of the names that servers give their tools. To try each
// for both would let through more than was meant: `read*` would take all tools of a server `reader`.

import type { Catalog } from '../../../config/catalog/catalog-schema.ts';
import type { ProfileEntry } from '../../../config/gateway-file/profile-schema.ts';
import { type ToolFilter, toolFilter } from '../aggregate/tool-filter.ts';
import { exposedName } from '../aggregate/tool-names.ts';

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
  return { servers: new Set(ids), isAllowed: toolsAllowed(tools) };
}

function toolsAllowed(tools: readonly string[] | undefined): ProfileFilter['isAllowed'] {
  if (tools === undefined) return () => true;
  const isSeen = anyOf(tools.filter((pattern) => pattern.includes('__')));
  const isOwn = anyOf(tools.filter((pattern) => !pattern.includes('__')));
  return (server, tool) => {
    if (isOwn(tool)) return true;
    // A name that does not fit is shown in another form; both can be written.
    const plain = `${server}__${tool}`;
    const shown = exposedName(server, tool);
    return isSeen(plain) || (shown !== plain && isSeen(shown));
  };
}

function anyOf(patterns: readonly string[]): ToolFilter {
  return patterns.length === 0 ? () => false : toolFilter({ allow: patterns, deny: [] });
}
