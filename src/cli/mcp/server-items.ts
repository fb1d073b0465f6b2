// Items of one server in a list. At the address of the server they have its own names; at the address of a profile the names of
// /mcp, beside those of other servers.

import { MergedNames } from '../../../actors/client/aggregate/tool-names.ts';
import { UsageError } from '../api/target-options.ts';
import { printable } from '../views/terminal-text.ts';
import { serverIds } from './listed-servers.ts';
import type { Item } from './mcp-session.ts';
import type { McpSituation } from './situation.ts';

type Situation = Pick<McpSituation, 'place' | 'timeoutMs'>;

/** Returns the items of the server of the command; all of them where it names none. */
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
 * Returns the item of the server that has this name, its own or the one at /mcp. Throws UsageError for a name that two items have:
 * `files__read` is the tool `read` of `files` to some callers, and a tool called `files__read` to others.
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
