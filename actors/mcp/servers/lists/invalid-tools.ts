// Finds tools that must not be offered: a modern server over HTTP wants some of their arguments in headers too, and its
// annotations break a rule, so that no call of them could be right. Other tools are not affected (2026-07-28, Streamable
// HTTP, "Custom Headers from Tool Parameters": they are left out of `tools/list`, with a warning).

import type { ServerEntry } from '../../../../config/catalog/catalog-schema.ts';
import type { Log } from '../../../base/errors/log.ts';
import { annotationFault } from '../../links/streamable-http/param-headers.ts';
import type { ServerCache } from '../cache/server-cache.ts';
import type { ServerEras } from '../eras/eras.ts';
import { itemJson, type ListItem } from './lists.ts';

interface ListingServer {
  readonly id: string;
  readonly entry: ServerEntry;
  readonly eras: Pick<ServerEras, 'known'>;
  readonly cache: Pick<ServerCache, 'lists'>;
}

/** Why the tool must not be offered, as a sentence for the log; undefined for all others. */
export function annotationFaultOf(
  { entry, eras }: Pick<ListingServer, 'entry' | 'eras'>,
  item: ListItem,
): string | undefined {
  if (entry.runtime === 'stdio' || eras.known?.modern !== true) return undefined;
  // Few schemas ask for headers; only those are worth parsing.
  if (!(item.before + item.after).includes('x-mcp-header')) return undefined;
  return annotationFault((JSON.parse(itemJson(item)) as { inputSchema?: unknown }).inputSchema);
}

/** Tells of the unfit tools of one server, of each once for as long as it stays unfit for the same reason. */
export class InvalidTools {
  readonly #server: ListingServer;
  readonly #log: Log;
  #told = new Set<string>();

  constructor(server: ListingServer, log: Log) {
    this.#server = server;
    this.#log = log;
  }

  /** The list of tools has changed. */
  tell(): void {
    const server = this.#server;
    const found = new Set<string>();
    for (const item of server.cache.lists.tools ?? []) {
      const reason = annotationFaultOf(server, item);
      if (reason === undefined) continue;
      const tool = item.key.slice(0, 200);
      const what = JSON.stringify([tool, reason]);
      found.add(what);
      if (!this.#told.has(what))
        this.#log.warn(
          { server: server.id, tool, reason },
          'a tool is not offered: its x-mcp-header is invalid',
        );
    }
    this.#told = found;
  }
}
