// Opens the stream for a listening client: a modern client that requested notifications with
// `subscriptions/listen`. Determines which of the requested notifications the servers support, subscribes to
// the requested resources, and sends the acknowledgement.

import { GatewayError, InternalError, StoppedError } from '../../../base/errors/errors.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { memberOf } from '../../jsonrpc/members.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import type { ClientShares } from '../../servers/calls/client-shares.ts';
import { type ListKind, listKinds } from '../../servers/lists/lists.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import { listFilters } from '../../servers/notifications/upstream-listen.ts';
import type { ModernCaller } from '../eras/modern-caller.ts';
import type { Outlet } from '../outlet.ts';
import type { MergedView, Profile } from '../profiles/profile.ts';
import type { RouterHost } from '../router-host.ts';
import { describeServer, descriptionOf } from '../routing/modern-router.ts';
import { ListenStream, MAX_URIS } from './listen-stream.ts';
import type { SessionOwner } from './owner-budget.ts';
import { subscribeResources, unsubscribeResources } from './resource-subscription.ts';

export interface ListenRequest {
  readonly envelope: Envelope;
  readonly caller: ModernCaller;
  readonly owner: SessionOwner;
  readonly shares: ClientShares | undefined;
  /** Server of the stream; undefined at /mcp and /mcp/@NAME. */
  readonly server: ManagedServer | undefined;
  /** Profile (a part of the servers) at /mcp/@NAME; undefined at other addresses. */
  readonly profile: Profile | undefined;
  readonly outlet: Outlet;
}

/**
 * Opens a listen stream. Throws RpcFault −32602 for invalid filters, OverloadedError if the limit of
 * listening clients is reached. Later errors are sent to the outlet.
 */
export function listen(
  gateway: RouterHost,
  { envelope, caller, owner, shares, server, profile, outlet }: ListenRequest,
): ListenStream {
  const { kinds, uris } = readFilter(envelope);
  const listening = new ListenStream(envelope, {
    target: server?.id,
    profile,
    caller,
    owner,
    shares,
    outlet,
    serverInfo: server?.cache.description?.serverInfo ?? gateway.serverInfo,
    redact: (text) => gateway.redactor.redact(text),
    onEnd: (endedStream) => {
      gateway.sessions.forgetListening(endedStream);
      gateway.release(endedStream);
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
  const view: MergedView = listening.profile ?? gateway;
  const isEmpty = kinds.length === 0 && uris.length === 0;
  if (server !== undefined && !isEmpty && descriptionOf(server) === undefined)
    await awaitDescription(server, listening);
  if (listening.isEnded) return;
  const capabilities = server === undefined ? undefined : descriptionOf(server)?.capabilities;
  listening.kinds = new Set(
    kinds.filter((kind) => {
      const declared = capabilities?.[listKinds[kind].capability] as { listChanged?: unknown } | undefined;
      return server === undefined || declared?.listChanged === true;
    }),
  );
  // The server of a resource is found in the merged lists.
  if (server === undefined && uris.length > 0)
    await view.discovery.waitForLists(gateway.config.list_timeout_seconds * 1000);
  const byServer = new Map<ManagedServer, string[]>();
  for (const uri of uris.slice(0, MAX_URIS)) {
    // `key` is the address at the server. The client's address may also contain the id of the server.
    const target = server === undefined ? view.aggregate.findResource(uri) : { server, key: uri };
    if (target === undefined || !canSubscribe(target.server) || listening.isEnded) continue;
    const ownUris = byServer.get(target.server) ?? [];
    byServer.set(target.server, ownUris);
    ownUris.push(target.key);
    if (target.key !== uri) listening.noteQualified(target.server.id, target.key);
  }
  const acceptedByServer = await Promise.all(
    [...byServer].map(async ([each, ownUris]) => {
      const acceptedUris = await subscribeResources(each, listening, ownUris);
      // The client may have disconnected meanwhile.
      if (listening.isEnded) unsubscribeResources(each, listening, acceptedUris);
      return acceptedUris.map((uri) => listening.nameOf(each.id, uri));
    }),
  );
  const allAccepted = new Set(acceptedByServer.flat());
  listening.acknowledge(uris.filter((uri) => allAccepted.has(uri)));
}

/**
 * Resolves when the description of the server is known or the client has disconnected. Rejects if the server
 * cannot start.
 */
async function awaitDescription(server: ManagedServer, listening: ListenStream): Promise<void> {
  // A parked server failed too often. It refuses the request below, so its eras are not needed.
  if (server.entry.enabled && !server.handle.isParked) {
    // Eras: legacy (sessions), modern (stateless requests), or both.
    await server.eras.ensureKnown();
    if (listening.isEnded) return;
    if (server.eras.knownEras === undefined && !server.handle.isParked)
      throw new StoppedError(`server ${server.id} was stopped before its protocol eras were known`);
  }
  await new Promise<void>((resolve, reject) => {
    const waiting = { succeed: () => resolve(), fail: reject, drop: resolve };
    listening.call = describeServer(server, listening, waiting, { client: listening.shares });
  });
  listening.call = undefined;
}

function canSubscribe(server: ManagedServer): boolean {
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
