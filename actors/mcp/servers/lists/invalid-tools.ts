// Detects tools with invalid header annotations (`x-mcp-header`: an argument that is sent as an HTTP header)
// at servers of revision 2026-07-28. Such tools cannot be called, so they are omitted from `tools/list`, with
// a warning in the log ("Custom Headers from Tool Parameters"). Other tools are not affected.

import type { ServerEntry } from '../../../../config/catalog/catalog-schema.ts';
import type { Log } from '../../../base/errors/log.ts';
import { annotationFault } from '../../links/streamable-http/param-headers.ts';
import type { ServerCache } from '../cache/cache.ts';
import type { ServerEras } from '../eras/eras.ts';
import { itemJson, type ListItem } from './lists.ts';

interface ListingServer {
  readonly id: string;
  readonly entry: ServerEntry;
  readonly eras: Pick<ServerEras, 'knownEras'>;
  readonly cache: Pick<ServerCache, 'lists'>;
}

/** Returns why the tool is omitted, as a sentence for the log; undefined for valid tools. */
export function annotationFaultOf(
  { entry, eras }: Pick<ListingServer, 'entry' | 'eras'>,
  item: ListItem,
): string | undefined {
  if (entry.runtime === 'stdio' || eras.knownEras?.modern !== true) return undefined;
  // Few schemas annotate headers, and only these are parsed. `before` and `after` are the JSON of the tool
  // around its name.
  if (!(item.before + item.after).includes('x-mcp-header')) return undefined;
  return annotationFault((JSON.parse(itemJson(item)) as { inputSchema?: unknown }).inputSchema);
}

/** Logs invalid tools, once per reason. */
export class InvalidTools {
  readonly #server: ListingServer;
  readonly #log: Log;
  #logged = new Set<string>();

  constructor(server: ListingServer, log: Log) {
    this.#server = server;
    this.#log = log;
  }

  /** Checks a changed list of tools. */
  check(): void {
    const server = this.#server;
    const current = new Set<string>();
    for (const item of server.cache.lists.tools ?? []) {
      const reason = annotationFaultOf(server, item);
      if (reason === undefined) continue;
      const tool = item.key.slice(0, 200);
      const key = JSON.stringify([tool, reason]);
      current.add(key);
      if (!this.#logged.has(key))
        this.#log.warn({ server: server.id, tool, reason }, 'tool omitted: its x-mcp-header is invalid');
    }
    this.#logged = current;
  }
}
