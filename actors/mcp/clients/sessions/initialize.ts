// Answers `initialize`. At /mcp the gateway describes itself; at /mcp/:id the server is described, and one that has
// never run is started for that.
//
// IZ1  what a client says of itself is bounded: it is kept as long as its session, and ten thousand sessions must stay
//      affordable (A8).
// IZ2  once a server is known, nobody waits for it, and nobody's session fails because it cannot be started.

import type { GatewayError } from '../../../base/errors/errors.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import {
  isSessionVersion,
  latestSessionVersion,
  type ServerDescription,
} from '../../servers/cache/server-description.ts';
import type { RoutedRequest } from '../routed-request.ts';
import type { RouterHost } from '../router-host.ts';
import { withEras } from '../routing/forwarder.ts';
import { describeServer } from '../routing/modern-router.ts';
import type { ClientSession } from './session.ts';

const MAX_INTRODUCTION = 65_536;

export interface InitializeRequest {
  /** The version asked for, or the latest when that is none. */
  readonly protocolVersion: string;
  readonly clientInfo: unknown;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/** What the client says of itself. Throws RpcFault −32602 for a malformed request. */
export function readInitialize(envelope: Envelope): InitializeRequest {
  const { params } = envelope;
  if (params !== undefined && params.end - params.start > MAX_INTRODUCTION) {
    const message = `params of initialize are larger than ${MAX_INTRODUCTION} bytes`;
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

/** The gateway's own, for all servers together, or those of the session's profile. */
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

export type InitializeRouted = RoutedRequest & { readonly session: ClientSession };

/** Answers with the introduction of the server, which is started if it has none yet. */
export function initializeAtServer(route: InitializeRouted): void {
  const { server, exchange } = route;
  const description = knownDescription(route);
  if (description !== undefined) {
    answer(route, description);
    return;
  }
  exchange.server = server.id;
  withEras(route, () => awaitIntroduction(route));
}

function awaitIntroduction(route: InitializeRouted): void {
  const { server, session, exchange } = route;
  // To be asked for its eras it had to introduce itself.
  const description = knownDescription(route);
  if (description !== undefined) {
    answer(route, description);
    return;
  }
  const caller = { clientInfo: session.clientInfo, capabilities: {} };
  const done = (learnt: ServerDescription) => answer(route, server.cache.description ?? learnt);
  const fail = (error: GatewayError) => {
    // Another session's start has made it known meanwhile; this one needs a place only for its first call.
    const learnt = knownDescription(route);
    if (learnt === undefined) exchange.fail(error);
    else answer(route, learnt);
  };
  exchange.call = describeServer(server, caller, { done, fail, drop: () => exchange.drop() }, session);
}

/** One that is switched off has nothing to say, whatever is known of it. */
function knownDescription({ server }: RoutedRequest): ServerDescription | undefined {
  return server.entry.enabled ? server.cache.description : undefined;
}

function answer({ session, exchange }: InitializeRouted, description: ServerDescription): void {
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
