// What the gateway itself knows of its servers, for lists at its MCP address: whose an item is, and why something is not there. All of it
// is besides: where the HTTP API says nothing, a list is a list all the same.

import { MergedNames } from '../../../actors/mcp/clients/aggregate/tool-names.ts';
import type { ServerDetails, ServerList } from '../../http/api/server-shapes.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { pathOf } from '../api/server-path.ts';
import { UsageError } from '../api/target-options.ts';
import { hintFor } from '../api/unknown-name.ts';
import { counted } from '../views/figures.ts';
import { complain } from '../views/output.ts';
import type { Group } from '../views/tool-views.ts';
import type { Place } from './mcp-place.ts';
import type { Item, Listed } from './mcp-session.ts';
import type { McpSituation } from './situation.ts';

const MOST_TOLD = 20;

/** The ids of the catalog, in its order; undefined where the gateway does not say. */
export async function serverIds(
  { api }: Pick<Place, 'api'>,
  timeoutMs: number,
): Promise<string[] | undefined> {
  try {
    const { body } = await api.ask('GET', 'servers', timeoutMs);
    return (body as ServerList).servers.map(({ id }) => id);
  } catch {
    return undefined;
  }
}

/** A merged list by server. What is nobody's, as the search of tools, stands first, as the gateway's. */
export function grouped(items: readonly Item[], ids: readonly string[]): Group[] {
  const names = new MergedNames(ids);
  const own = new Map<string, Item[]>();
  for (const item of items) {
    const id = names.likelyOwnerOf(String(item.name)) ?? '';
    own.set(id, [...(own.get(id) ?? []), item]);
  }
  return ['', ...ids].flatMap((id) => {
    const list = own.get(id);
    return list === undefined ? [] : [{ title: id === '' ? 'the gateway itself' : id, items: list }];
  });
}

/** Says on stderr of which servers a list has nothing, or not all, and why. */
export async function tellIncomplete(
  { incomplete }: Listed,
  { place, timeoutMs }: McpSituation,
): Promise<void> {
  for (const id of incomplete.slice(0, MOST_TOLD))
    complain(
      printable(`without ${id}: ${(await whyMissing(place, id, timeoutMs)) ?? 'its list is not known yet'}`),
    );
  if (incomplete.length > MOST_TOLD) complain(`and without ${incomplete.length - MOST_TOLD} more`);
}

/** Why a list has nothing at all, as a sentence. Throws UsageError for a server that is not in the catalog. */
export async function whyEmpty(noun: string, { place, timeoutMs }: McpSituation): Promise<string> {
  const { server, profile } = place;
  if (server !== undefined) {
    const unknown = await unknownServer(place, timeoutMs);
    if (unknown !== undefined) throw unknown;
    const details = await detailsOf(place, server, timeoutMs);
    const hidden = noun === 'tool' && profile === undefined ? (details?.tools.length ?? 0) : 0;
    if (hidden > 0)
      return `${server} offers no tools: the catalog leaves out ${hidden === 1 ? 'the one' : `all ${hidden}`} that it has (tools.allow, tools.deny)`;
    return `${server} offers no ${noun}s${profile === undefined ? '' : ` in profile ${profile}`}`;
  }
  const ids = await serverIds(place, timeoutMs);
  if (ids?.length === 0) return `no ${noun}s: the catalog is empty`;
  const whose =
    profile === undefined
      ? ids === undefined
        ? 'the gateway'
        : counted(ids.length, 'server')
      : `profile ${profile}`;
  return `no ${noun}s: ${whose} ${whose.startsWith('1 ') || ids === undefined || profile !== undefined ? 'offers' : 'offer'} none`;
}

/** Where a server is not in the catalog: which are. */
export async function unknownServer(place: Place, timeoutMs: number): Promise<UsageError | undefined> {
  const { server } = place;
  const ids = server === undefined ? undefined : await serverIds(place, timeoutMs);
  if (server === undefined || ids === undefined || ids.includes(server)) return undefined;
  return new UsageError(printable(`there is no server ${JSON.stringify(server)}; ${hintFor(server, ids)}`));
}

async function whyMissing(place: Place, id: string, timeoutMs: number): Promise<string | undefined> {
  const details = await detailsOf(place, id, timeoutMs);
  if (details === undefined) return undefined;
  if (!details.enabled) return 'it is off (enabled: false in the catalog)';
  const cut = Object.values(details.lists).find((list) => list?.cut)?.cut;
  return details.last_error?.message ?? cut?.message;
}

async function detailsOf({ api }: Place, id: string, timeoutMs: number): Promise<ServerDetails | undefined> {
  try {
    return (await api.ask('GET', pathOf(id), timeoutMs)).body as ServerDetails;
  } catch {
    return undefined;
  }
}
