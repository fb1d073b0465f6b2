// Answers `initialize`: at /mcp with the gateway's description, at /mcp/:id with the description of the
// server, which is started if it never ran. A cached description is sent without waiting for the server, even
// if it cannot start. The client's identity is limited in size, because the session stores it (A8,
// ARCHITECTURE.md).

import type { GatewayError } from '../../../base/errors/errors.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import {
  isSessionVersion,
  latestSessionVersion,
  type ServerDescription,
} from '../../servers/cache/introduction.ts';
import type { RoutedRequest } from '../routed-request.ts';
import type { RouterHost } from '../router-host.ts';
import { withEras } from '../routing/forwarder.ts';
import { describeServer } from '../routing/modern-router.ts';
import type { ClientSession } from './session.ts';

/** Maximum size of the params, in bytes. */
const MAX_PARAMS_BYTES = 65_536;

export interface InitializeRequest {
  /** Requested protocol version, or the gateway's latest if the requested one is unsupported. */
  readonly protocolVersion: string;
  readonly clientInfo: unknown;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/** Returns the client's identity. Throws RpcFault −32602 for a malformed request. */
export function readInitialize(envelope: Envelope): InitializeRequest {
  const { params } = envelope;
  if (params !== undefined && params.end - params.start > MAX_PARAMS_BYTES) {
    const message = `params of initialize are larger than ${MAX_PARAMS_BYTES} bytes`;
    throw new RpcFault(rpcCodes.invalidParams, message, envelope.rawId);
  }
  const { protocolVersion, clientInfo, capabilities } = (envelope.parse(envelope.params) ?? {}) as Record<
    string,
    unknown
  >;
  if (typeof protocolVersion !== 'string') {
    throw new RpcFault(rpcCodes.invalidParams, 'params.protocolVersion must be a string', envelope.rawId);
  }
  return {
    protocolVersion: isSessionVersion(protocolVersion) ? protocolVersion : latestSessionVersion,
    clientInfo: clientInfo ?? { name: 'unknown', version: '0' },
    capabilities: isRecord(capabilities) ? capabilities : {},
  };
}

/** Returns the result for the session's profile, or for all servers. */
export function gatewayInitializeResult(
  { aggregate: all, serverInfo }: RouterHost,
  { protocolVersion, profile }: ClientSession,
): Record<string, unknown> {
  const aggregate = profile?.aggregate ?? all;
  const instructions = aggregate.instructions();
  return {
    protocolVersion,
    capabilities: aggregate.capabilities(),
    serverInfo,
    ...(instructions === undefined ? {} : { instructions }),
  };
}

export type RoutedInitialize = RoutedRequest & { readonly session: ClientSession };

/** Answers with the description of the server. Starts the server if the description is unknown. */
export function initializeAtServer(route: RoutedInitialize): void {
  const { server, exchange } = route;
  const description = findDescription(route);
  if (description !== undefined) {
    answer(route, description);
    return;
  }
  exchange.server = server.id;
  // Waits until the protocol eras of the server are known: legacy (sessions), modern (stateless), or both.
  withEras(route, () => awaitDescription(route));
}

function awaitDescription(route: RoutedInitialize): void {
  const { server, session, exchange } = route;
  // The request that determined the eras may also have returned the description.
  const description = findDescription(route);
  if (description !== undefined) {
    answer(route, description);
    return;
  }
  // Metadata of the request to a modern server. A description needs no client capabilities.
  const caller = { clientInfo: session.clientInfo, capabilities: {} };
  const succeed = (learnt: ServerDescription) => answer(route, server.cache.description ?? learnt);
  const fail = (error: GatewayError) => {
    // A start for another session may have provided the description meanwhile. It is sufficient: this session
    // needs a connection only for its first call.
    const learnt = findDescription(route);
    if (learnt === undefined) exchange.fail(error);
    else answer(route, learnt);
  };
  const waiting = { succeed, fail, drop: () => exchange.drop() };
  exchange.call = describeServer(server, caller, waiting, { owner: session });
}

/** Returns the cached description; undefined for a disabled server. */
function findDescription({ server }: RoutedRequest): ServerDescription | undefined {
  return server.entry.enabled ? server.cache.description : undefined;
}

function answer({ session, exchange }: RoutedInitialize, description: ServerDescription): void {
  const { capabilities, serverInfo, instructions } = description;
  exchange.result({
    protocolVersion: session.protocolVersion,
    capabilities,
    serverInfo,
    ...(instructions === undefined ? {} : { instructions }),
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
