// Finds the session of a request: in memory, at another node of the cluster, or by its record.

import { GatewayError } from '../../../actors/base/errors/errors.ts';
import { type NodeRefusal, nodeHeaders } from '../../../actors/cluster/node-connection.ts';
import type { Endpoint } from '../../../actors/mcp/clients/profiles/profile.ts';
import type { ClientSession } from '../../../actors/mcp/clients/sessions/session.ts';
import type { RestoredSession } from '../../../actors/mcp/clients/sessions/session-restorer.ts';
import type { Envelope } from '../../../actors/mcp/jsonrpc/envelope.ts';
import { RpcFault, rpcCodes } from '../../../actors/mcp/jsonrpc/rpc-fault.ts';
import type { RouteContext } from '../route-context.ts';
import type { ExchangeContext } from './exchange-context.ts';

/**
 * Calls `use` with the session of a request, which may have to be restored first. Otherwise the request is
 * forwarded to the node that owns the session, or refused.
 */
export function withSession(
  routes: RouteContext,
  context: ExchangeContext,
  endpoint: Endpoint,
  envelope: Envelope | undefined,
  use: (session: ClientSession) => void,
): void {
  const id = context.request.headers['mcp-session-id'];
  const rawId = envelope?.rawRequestId;
  if (id === undefined || id === '') {
    const message = 'the Mcp-Session-Id header is missing; initialize first';
    context.rpcFault(new RpcFault(rpcCodes.invalidRequest, message, rawId), 400);
    return;
  }
  const startsWork = envelope === undefined ? context.request.method === 'GET' : envelope.kind === 'request';
  if (routes.life.isEnding && startsWork && context.isFromNode && context.principal.kind !== 'node') {
    refuseTo(context, 'stopping');
    return;
  }
  const session = routes.mcp.clients.sessions.find(id, endpoint, context.principal);
  // The call that a notification concerns may still run at the previous owner, which is stopping.
  const mayConcernOtherNode = envelope !== undefined && envelope.kind !== 'request';
  if (session !== undefined && (session.generation === 0 || !mayConcernOtherNode)) use(session);
  else if (session === undefined && routes.life.isEnding && routes.forwarder === undefined)
    context.refuseWhileDraining(rawId);
  else findElsewhere(id, { routes, context, endpoint, envelope, use });
}

interface SessionRequest {
  readonly routes: RouteContext;
  readonly context: ExchangeContext;
  readonly endpoint: Endpoint;
  readonly envelope: Envelope | undefined;
  use(session: ClientSession): void;
}

/** Forwards the request to the node with the session, or restores the session here. */
function findElsewhere(id: string, { routes, context, endpoint, envelope, use }: SessionRequest): void {
  const { mcp, life, forwarder } = routes;
  const rawId = envelope?.rawRequestId;
  // A 404 makes the client initialize again (MCP 2025-11-25, Session Management).
  const refuseUnknown = () => context.rpcFault(new RpcFault(-32001, 'Session not found', rawId), 404);
  const request = { context, envelope, body: envelope?.bytes, refuseUnknown };
  const onRestored = (restored: RestoredSession) => {
    if (restored === undefined) refuseUnknown();
    else if (!('instance' in restored)) use(restored);
    else if (context.isFromNode) refuseTo(context, 'moved');
    else if (forwarder?.forwardToOwner(restored.instance, request) !== true) refuseUnknown();
  };
  const onError = (error: unknown) => respondWithError(context, error, envelope);
  const restore = (endedInstance?: string) =>
    void mcp.clients.restorer
      .restore(id, endpoint, context.principal, endedInstance)
      .then((restored) => onRestored(restored))
      .catch((error: unknown) => context.reply.guard(() => onError(error)));
  // If the owner has exited without notice, this node takes the session over.
  if (forwarder?.forwardForSession(id, { ...request, refuseUnknown: restore }) === true) return;
  if (life.isEnding) context.refuseWhileDraining(rawId);
  else restore();
}

/** Refuses the request of another node: this node stops, or a third node has taken the session over. */
function refuseTo(context: ExchangeContext, why: NodeRefusal): void {
  context.error(404, 'another node has the session', [[nodeHeaders.refused, why]]);
}

/** Responds to an error before the request was accepted. */
export function respondWithError(
  context: ExchangeContext,
  error: unknown,
  envelope: Envelope | undefined,
): void {
  const rawId = envelope?.rawRequestId;
  if (error instanceof RpcFault) {
    context.rpcFault(error.withId(rawId), 400);
  } else if (error instanceof GatewayError) {
    context.rpcError(error, rawId);
  } else {
    throw error;
  }
}
