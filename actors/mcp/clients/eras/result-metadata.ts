// Metadata that modern clients (protocol 2026-07-28) expect in results: server name, result type and cache
// hint. It is equal for every call, so it is built once per server.

import { metaKeys } from '../../jsonrpc/modern-meta.ts';
import { ResultChange } from '../../jsonrpc/result-change.ts';
import { concatEdits, rawJson } from '../../jsonrpc/span.ts';
import { noCache } from '../../servers/lists/lists.ts';
import type { ClientExchange } from '../exchange.ts';

export interface ResultMetadata {
  /** Adds the server name only, for results of modern servers. */
  readonly serverInfoOnly: ResultChange;
  /** Adds server name and result type. */
  readonly complete: ResultChange;
  /** Adds server name, result type and a cache hint that forbids caching. */
  readonly withNoCache: ResultChange;
}

const cache = new WeakMap<object, ResultMetadata>();

/**
 * Returns the metadata for a server. Cached by `serverInfo`, which stays the same object until the
 * description changes.
 */
export function resultMetadataOf(serverInfo: unknown): ResultMetadata {
  const cachedMetadata =
    // A WeakMap accepts only objects as keys, and servers may send other values.
    typeof serverInfo === 'object' && serverInfo !== null ? cache.get(serverInfo) : undefined;
  if (cachedMetadata !== undefined) return cachedMetadata;
  const meta = { [metaKeys.serverInfo]: rawJson(serverInfo) };
  const complete = { resultType: rawJson('complete') };
  const withNoCache = { ...complete, ttlMs: String(noCache.ttlMs), cacheScope: rawJson(noCache.scope) };
  const metadata = {
    serverInfoOnly: new ResultChange({}, meta),
    complete: new ResultChange(complete, meta),
    withNoCache: new ResultChange(withNoCache, meta),
  };
  if (typeof serverInfo === 'object' && serverInfo !== null) cache.set(serverInfo, metadata);
  return metadata;
}

/**
 * Replaces the server name in a modern server's result with the gateway's, for clients of an address of
 * several servers (/mcp, /mcp/@NAME).
 */
export function withGatewayMetadata(exchange: ClientExchange): void {
  const { modernResult, rewrite } = exchange;
  if (modernResult === undefined) return;
  const { serverInfoOnly } = resultMetadataOf(modernResult.serverInfo);
  exchange.rewrite = (answer) => concatEdits(rewrite?.(answer), serverInfoOnly.edits(answer));
}
