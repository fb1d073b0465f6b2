// Opens a listen stream: finds out what the servers can tell, subscribes to the resources that the client names, and
// acknowledges that.

import { GatewayError, InternalError, StoppedError } from '../../../base/errors/errors.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { memberOf } from '../../jsonrpc/members.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { type ListKind, listKinds } from '../../servers/lists/lists.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import { listFilters } from '../../servers/notifications/upstream-listen.ts';
import type { ModernCaller } from '../eras/modern-caller.ts';
import type { Outlet } from '../outlet.ts';
import type { Profile, View } from '../profiles/profile.ts';
import type { RouterHost } from '../router-host.ts';
import { describeServer, descriptionOf } from '../routing/modern-router.ts';
import { ListenStream, MAX_URIS } from './listen-stream.ts';
import { subscribeResources, unsubscribeResources } from './resource-subscription.ts';

export interface ListenRequest {
  readonly envelope: Envelope;
  readonly caller: ModernCaller;
  /** The server it listens to; undefined at /mcp and /mcp/@NAME. */
  readonly server: ManagedServer | undefined;
  /** The profile it listens to. */
  readonly profile: Profile | undefined;
  readonly outlet: Outlet;
}

/**
 * Begins to listen. Throws RpcFault −32602 for a filter that is none, and OverloadedError when too many clients
 * listen. What goes wrong later comes through the outlet.
 */
export function listen(
  gateway: RouterHost,
  { envelope, caller, server, profile, outlet }: ListenRequest,
): ListenStream {
  const { kinds, uris } = readFilter(envelope);
  const listening = new ListenStream(envelope, {
    target: server?.id,
    profile,
    caller,
    outlet,
    serverInfo: server?.cache.description?.serverInfo ?? gateway.serverInfo,
    redact: (text) => gateway.redactor.redact(text),
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
  gateway: RouterHost,
  listening: ListenStream,
  server: ManagedServer | undefined,
  kinds: readonly ListKind[],
  uris: readonly string[],
): Promise<void> {
  const view: View = listening.profile ?? gateway;
  const isEmpty = kinds.length === 0 && uris.length === 0;
  if (server !== undefined && !isEmpty && descriptionOf(server) === undefined) await known(server, listening);
  if (listening.isEnded) return;
  const capabilities = server === undefined ? undefined : descriptionOf(server)?.capabilities;
  listening.kinds = new Set(
    kinds.filter((kind) => {
      const declared = capabilities?.[listKinds[kind].capability] as { listChanged?: unknown } | undefined;
      return server === undefined || declared?.listChanged === true;
    }),
  );
  if (server === undefined && uris.length > 0)
    await view.discovery.settle(gateway.config.list_timeout_seconds * 1000);
  const byServer = new Map<ManagedServer, string[]>();
  for (const uri of uris.slice(0, MAX_URIS)) {
    const at = server ?? view.aggregate.findResource(uri)?.server;
    if (at === undefined || !canWatch(at) || listening.isEnded) continue;
    const own = byServer.get(at) ?? [];
    byServer.set(at, own);
    own.push(uri);
  }
  const watched = await Promise.all(
    [...byServer].map(async ([at, own]) => {
      const agreed = await subscribeResources(at, listening, own);
      if (listening.isEnded) unsubscribeResources(at, listening, agreed);
      return agreed;
    }),
  );
  const told = new Set(watched.flat());
  listening.acknowledge(uris.filter((uri) => told.has(uri)));
}

/** Resolves once the server has introduced itself, or the client has left. Rejects with the reason it cannot. */
async function known(server: ManagedServer, listening: ListenStream): Promise<void> {
  if (server.entry.enabled && !server.handle.isParked) {
    await server.eras.settle();
    if (listening.isEnded) return;
    if (server.eras.known === undefined && !server.handle.isParked)
      throw new StoppedError(`server ${server.id} was stopped before its protocol eras were known`);
  }
  await new Promise<void>((resolve, reject) => {
    listening.call = describeServer(server, listening, {
      done: () => resolve(),
      fail: reject,
      drop: resolve,
    });
  });
  listening.call = undefined;
}

function canWatch(server: ManagedServer): boolean {
  const resources = descriptionOf(server)?.capabilities.resources as { subscribe?: unknown } | undefined;
  return server.entry.enabled && resources?.subscribe === true;
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
  const kinds = Object.entries(listFilters).flatMap(([name, kind]) => {
    const { [name]: isWanted = false } = members;
    if (typeof isWanted !== 'boolean')
      throw new RpcFault(rpcCodes.invalidParams, `notifications.${name} must be a boolean`, rawId);
    return isWanted ? [kind] : [];
  });
  return { kinds, uris: [...new Set(uris as string[])] };
}
