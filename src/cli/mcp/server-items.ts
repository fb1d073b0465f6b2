// Selects a server's items (tools, prompts) from a list. /mcp/SERVER lists the server's own names.
// /mcp/@PROFILE lists the items of several servers under merged names, as /mcp does (`files__read`).

import { MergedNames } from '../../../actors/mcp/clients/aggregate/tool-names.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { CommandLineError } from '../api/target-options.ts';
import type { McpContext } from './context.ts';
import { serverIds } from './list-notes.ts';
import type { ListedItem } from './session.ts';

type ItemContext = Pick<McpContext, 'endpoint' | 'timeoutMs'>;

/** Returns the items of the requested server; all items if no server was requested. */
export async function itemsOfServer(
  items: readonly ListedItem[],
  { endpoint, timeoutMs }: ItemContext,
): Promise<readonly ListedItem[]> {
  const { server, profile } = endpoint;
  if (server === undefined || profile === undefined) return items;
  const names = new MergedNames((await serverIds(endpoint, timeoutMs)) ?? [server]);
  return items.filter(({ name }) => names.likelyOwnerOf(String(name)) === server);
}

/**
 * Finds an item by its name at the server or at /mcp. Throws CommandLineError if these are two items:
 * `files__read` may be the tool `read` of `files`, or a tool named `files__read`.
 */
export async function findItem(
  name: string,
  items: readonly ListedItem[],
  { endpoint, timeoutMs }: ItemContext,
): Promise<ListedItem | undefined> {
  const { server = '', profile } = endpoint;
  const names = new MergedNames((await serverIds(endpoint, timeoutMs)) ?? [server]);
  const mergedNameOf = (own: string) => names.namesOf(server, [own]).get(own);
  const merged = mergedNameOf(name);
  const [found, ...others] = items.filter((item) => {
    const itemName = profile === undefined ? mergedNameOf(String(item.name)) : item.name;
    return itemName === merged || itemName === name;
  });
  if (others.length === 0) return found;
  throw new CommandLineError(
    printable(
      `${JSON.stringify(name)} names two items of ${server}: one has this name at the server and ${merged} at /mcp, ` +
        `another has this name at /mcp; enter ${merged} for the first, or the second's name at the server`,
    ),
  );
}
