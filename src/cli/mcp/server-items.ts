// Selects a server's items from a list. A server address lists the server's own names; a profile address lists names as in
// /mcp, for all its servers.

import { MergedNames } from '../../../actors/mcp/clients/aggregate/tool-names.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { UsageError } from '../api/target-options.ts';
import { serverIds } from './listed-servers.ts';
import type { Item } from './mcp-session.ts';
import type { McpSituation } from './situation.ts';

type Situation = Pick<McpSituation, 'place' | 'timeoutMs'>;

/** Returns the requested server's items, or all items if no server is requested. */
export async function itemsOfServer(
  items: readonly Item[],
  { place, timeoutMs }: Situation,
): Promise<readonly Item[]> {
  const { server, profile } = place;
  if (server === undefined || profile === undefined) return items;
  const names = new MergedNames((await serverIds(place, timeoutMs)) ?? [server]);
  return items.filter(({ name }) => names.likelyOwnerOf(String(name)) === server);
}

/**
 * Looks up an item by own name or name at /mcp. Throws UsageError if these are two items: `files__read` may mean the tool
 * `read` of `files`, or a tool called `files__read`.
 */
export async function itemNamed(
  name: string,
  items: readonly Item[],
  { place, timeoutMs }: Situation,
): Promise<Item | undefined> {
  const { server = '', profile } = place;
  const names = new MergedNames((await serverIds(place, timeoutMs)) ?? [server]);
  const mergedNameOf = (own: string) => names.namesOf(server, [own]).get(own);
  const merged = mergedNameOf(name);
  const [found, ...others] = items.filter((item) => {
    const itemName = profile === undefined ? mergedNameOf(String(item.name)) : item.name;
    return itemName === merged || itemName === name;
  });
  if (others.length === 0) return found;
  throw new UsageError(
    printable(
      `${JSON.stringify(name)} means two items of ${server}: its own ${JSON.stringify(name)}, which is ${merged} at /mcp, ` +
        `and the one that is ${name} at /mcp; give the own name of the latter, or ${merged}`,
    ),
  );
}
