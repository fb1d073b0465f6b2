// Opens what a modern client listens to: finds out what can be told, has servers watch the resources it names, and
// acknowledges that.

import { GatewayError, InternalError } from '../errors.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import { memberOf } from '../jsonrpc/members.ts';
import { RpcFault, rpcCodes } from '../jsonrpc/rpc-fault.ts';
import { type ListKind, listKinds } from '../server/lists.ts';
import type { ManagedServer } from '../server/managed-server.ts';
import { listFilters } from '../server/upstream-listen.ts';
import { Listening, MAX_URIS } from './listening.ts';
import type { ModernAsker } from './modern-asker.ts';
import type { Outlet } from './outlet.ts';
import { unwatch, watch } from './watch.ts';

export interface ListenRequest {
  readonly envelope: Envelope;
  readonly asker: ModernAsker;
  /** The server it listens to; undefined at /mcp. */
  readonly server: ManagedServer | undefined;
  readonly outlet: Outlet;
}

/**
 * Begins to listen. Throws RpcFault −32602 for a filter that is none, and OverloadedError when too many clients
 * listen. What goes wrong later comes through the outlet.
 */
export function listen(gateway: Gateway, { envelope, asker, server, outlet }: ListenRequest): Listening {
  const { kinds, uris } = readFilter(envelope);
  const listening = new Listening(envelope, {
    target: server?.id,
    asker,
    outlet,
    serverInfo: server?.known.advert?.serverInfo ?? gateway.serverInfo,
    onEnd: (ended) => {
      gateway.sessions.forgetListening(ended);
      gateway.release(ended);
    },
  });
  gateway.sessions.addListening(listening);
  begin(gateway, listening, server, kinds, uris).catch((error: unknown) => {
    listening.fail(
      error instanceof GatewayError ? error : new InternalError('listening failed', { cause: error }),
    );
  });
  return listening;
}

async function begin(
  gateway: Gateway,
  listening: Listening,
  server: ManagedServer | undefined,
  kinds: readonly ListKind[],
  uris: readonly string[],
): Promise<void> {
  if (server !== undefined && !server.known.hasAdvert) await server.start();
  const capabilities = server?.known.advert?.capabilities;
  listening.kinds = new Set(
    kinds.filter((kind) => {
      const declared = capabilities?.[listKinds[kind].capability] as { listChanged?: unknown } | undefined;
      return server === undefined || declared?.listChanged === true;
    }),
  );
  if (server === undefined && uris.length > 0)
    await gateway.discovery.settle(gateway.config.list_timeout_seconds * 1000);
  const watched = await Promise.all(
    uris.slice(0, MAX_URIS).map(async (uri) => {
      const at = server ?? gateway.aggregate.findResource(uri)?.server;
      if (at === undefined || !canWatch(at) || listening.isEnded) return [];
      const isWatched = await watch(at, listening, uri);
      if (isWatched && listening.isEnded) unwatch(at, listening, uri);
      return isWatched ? [uri] : [];
    }),
  );
  listening.acknowledge(watched.flat());
}

function canWatch({ known, entry }: ManagedServer): boolean {
  const resources = known.advert?.capabilities.resources as { subscribe?: unknown } | undefined;
  return entry.enabled && resources?.subscribe === true;
}

function readFilter(envelope: Envelope): { kinds: ListKind[]; uris: string[] } {
  const { bytes, params, rawId } = envelope;
  const filter = envelope.parse(memberOf(bytes, params, 'notifications'));
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter))
    throw new RpcFault(rpcCodes.invalidParams, 'params.notifications must be an object', rawId);
  const members = filter as Record<string, unknown>;
  const { resourceSubscriptions: uris = [] } = members;
  if (!Array.isArray(uris) || uris.some((uri) => typeof uri !== 'string'))
    throw new RpcFault(
      rpcCodes.invalidParams,
      'notifications.resourceSubscriptions must be a list of uris',
      rawId,
    );
  const kinds = Object.entries(listFilters).flatMap(([name, kind]) => (members[name] === true ? [kind] : []));
  return { kinds, uris: [...new Set(uris as string[])] };
}
