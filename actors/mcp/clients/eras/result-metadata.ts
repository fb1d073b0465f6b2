// The metadata that a modern client expects in a result: the server's name, that the result is complete, and how long it may be
// cached. It is the same for all calls of a server, and is therefore built once.

import { metaKeys } from '../../jsonrpc/modern-meta.ts';
import { ResultChange } from '../../jsonrpc/result-change.ts';
import { rawJson, together } from '../../jsonrpc/span.ts';
import { noCache } from '../../servers/lists/lists.ts';
import type { ClientExchange } from '../client-exchange.ts';

export interface ResultMetadata {
  /** For a result of a modern server, which says the rest itself. */
  readonly alone: ResultChange;
  readonly complete: ResultChange;
  /** For a result that says how long it may be kept. */
  readonly uncached: ResultChange;
}

const made = new WeakMap<object, ResultMetadata>();

/** Cached by `serverInfo`, which is one object for as long as the server's description holds. */
export function resultMetadataOf(serverInfo: unknown): ResultMetadata {
  const known = typeof serverInfo === 'object' && serverInfo !== null ? made.get(serverInfo) : undefined;
  if (known !== undefined) return known;
  const meta = { [metaKeys.serverInfo]: rawJson(serverInfo) };
  const complete = { resultType: rawJson('complete') };
  const uncached = { ...complete, ttlMs: String(noCache.ttlMs), cacheScope: rawJson(noCache.scope) };
  const metadata = {
    alone: new ResultChange({}, meta),
    complete: new ResultChange(complete, meta),
    uncached: new ResultChange(uncached, meta),
  };
  if (typeof serverInfo === 'object' && serverInfo !== null) made.set(serverInfo, metadata);
  return metadata;
}

/** Gives a modern server's result the gateway's name, for a client that knows nothing of single servers. */
export function withGatewayMetadata(exchange: ClientExchange): void {
  const { modernResult, rewrite } = exchange;
  if (modernResult === undefined) return;
  const { alone } = resultMetadataOf(modernResult.serverInfo);
  exchange.rewrite = (answer) => together(rewrite?.(answer), alone.edits(answer));
}
