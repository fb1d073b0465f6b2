// Adds information from the HTTP API to lists from the MCP address: which server an item belongs to, and why
// items are missing. If the API fails, lists are printed without this information.

import { MergedNames } from '../../../actors/mcp/clients/aggregate/tool-names.ts';
import type { ServerDetails, ServerList } from '../../http/api/server-shapes.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { pathOf } from '../api/server-path.ts';
import { CommandLineError } from '../api/target-options.ts';
import { hintFor } from '../api/unknown-name.ts';
import { counted } from '../views/figures.ts';
import { printMessage } from '../views/output.ts';
import type { ItemGroup } from '../views/tools.ts';
import type { McpContext } from './context.ts';
import type { McpEndpoint } from './endpoint.ts';
import type { ItemList, ListedItem } from './session.ts';

const MAX_NOTES = 20;

/** Returns the server ids in the order of the catalog; undefined if the API fails. */
export async function serverIds(
  { api }: Pick<McpEndpoint, 'api'>,
  timeoutMs: number,
): Promise<string[] | undefined> {
  try {
    const { body } = await api.request('GET', 'servers', timeoutMs);
    return (body as ServerList).servers.map(({ id }) => id);
  } catch {
    return undefined;
  }
}

/**
 * Groups a merged list by server. The first group contains tools of the gateway itself, such as tool search.
 */
export function groupByServer(items: readonly ListedItem[], ids: readonly string[]): ItemGroup[] {
  const names = new MergedNames(ids);
  const itemsById = new Map<string, ListedItem[]>();
  for (const item of items) {
    const id = names.likelyOwnerOf(String(item.name)) ?? '';
    itemsById.set(id, [...(itemsById.get(id) ?? []), item]);
  }
  return ['', ...ids].flatMap((id) => {
    const list = itemsById.get(id);
    return list === undefined ? [] : [{ title: id === '' ? 'the gateway itself' : id, items: list }];
  });
}

/** Prints a line on stderr for each server that is missing in a list, with the reason. */
export async function printIncomplete(
  { incomplete }: ItemList,
  { endpoint, timeoutMs }: McpContext,
): Promise<void> {
  for (const id of incomplete.slice(0, MAX_NOTES))
    printMessage(
      printable(
        `without ${id}: ${(await missingReason(endpoint, id, timeoutMs)) ?? 'its list is not loaded yet'}`,
      ),
    );
  if (incomplete.length > MAX_NOTES) printMessage(`and without ${incomplete.length - MAX_NOTES} more`);
}

/** Returns the text to print instead of an empty list. Throws CommandLineError if the server is unknown. */
export async function explainEmpty(noun: string, { endpoint, timeoutMs }: McpContext): Promise<string> {
  const { server, profile } = endpoint;
  if (server !== undefined) {
    const unknown = await unknownServerError(endpoint, timeoutMs);
    if (unknown !== undefined) throw unknown;
    const details = await requestDetails(endpoint, server, timeoutMs);
    const hidden = noun === 'tool' && profile === undefined ? (details?.tools.length ?? 0) : 0;
    if (hidden > 0)
      return `${server} offers no tools: the catalog hides ${hidden === 1 ? 'its only one' : `all ${hidden}`} (tools.allow, tools.deny)`;
    return `${server} offers no ${noun}s${profile === undefined ? '' : ` in profile ${profile}`}`;
  }
  const ids = await serverIds(endpoint, timeoutMs);
  if (ids?.length === 0) return `no ${noun}s: the catalog is empty`;
  if (profile !== undefined) return `no ${noun}s: profile ${profile} offers none`;
  if (ids === undefined) return `no ${noun}s: the gateway offers none`;
  return `no ${noun}s: ${counted(ids.length, 'server')} ${ids.length === 1 ? 'offers' : 'offer'} none`;
}

/** If the requested server is unknown, returns an error that lists the existing ids. */
export async function unknownServerError(
  endpoint: McpEndpoint,
  timeoutMs: number,
): Promise<CommandLineError | undefined> {
  const { server } = endpoint;
  const ids = server === undefined ? undefined : await serverIds(endpoint, timeoutMs);
  if (server === undefined || ids === undefined || ids.includes(server)) return undefined;
  return new CommandLineError(
    printable(`there is no server ${JSON.stringify(server)}; ${hintFor(server, ids)}`),
  );
}

async function missingReason(
  endpoint: McpEndpoint,
  id: string,
  timeoutMs: number,
): Promise<string | undefined> {
  const details = await requestDetails(endpoint, id, timeoutMs);
  if (details === undefined) return undefined;
  if (!details.enabled) return 'it is disabled (enabled: false in the catalog)';
  const cut = Object.values(details.lists).find((list) => list?.cut)?.cut;
  return details.last_error?.message ?? cut?.message;
}

async function requestDetails(
  { api }: McpEndpoint,
  id: string,
  timeoutMs: number,
): Promise<ServerDetails | undefined> {
  try {
    return (await api.request('GET', pathOf(id), timeoutMs)).body as ServerDetails;
  } catch {
    return undefined;
  }
}
