// Serves POST /rpc: sends a JSON-RPC message to the server that the header X-MCP-Server names. There is no
// session and no stream: the response is JSON, and all other messages of the server are dropped.

import { GatewayError, StoppedError } from '../../../actors/base/errors/errors.ts';
import type { Envelope } from '../../../actors/mcp/jsonrpc/envelope.ts';
import { readClientMessage } from '../../../actors/mcp/jsonrpc/read-message.ts';
import { RpcFault, rpcCodes } from '../../../actors/mcp/jsonrpc/rpc-fault.ts';
import type { ManagedServer } from '../../../actors/mcp/servers/managed-server.ts';
import { isJson } from '../listener/framing.ts';
import type { BodyProblem } from '../listener/seam.ts';
import type { RouteContext } from '../route-context.ts';
import { closeHeaders, type ExchangeContext } from './exchange-context.ts';
import { forwardRetry } from './mcp-endpoint.ts';
import { refuseByRole } from './message-role.ts';
import { checkMirrorHeaders } from './modern-endpoint.ts';
import { JsonOutlet } from './post-outlet.ts';

/**
 * Returns true if the body should be read. Other errors contain the id of the request, which is in the body.
 */
export function admitRpc(context: ExchangeContext): boolean {
  if (isJson(context.request.headers['content-type'] ?? '')) return true;
  context.rpcFault(new RpcFault(rpcCodes.invalidRequest, 'Content-Type must be application/json'), 415);
  return false;
}

export function rpc(routes: RouteContext, context: ExchangeContext, body: Buffer | BodyProblem): void {
  if (typeof body === 'string') {
    context.refuseRpcBody(body, routes.config.limits.body_bytes);
    return;
  }
  let envelope: Envelope | undefined;
  try {
    envelope = readClientMessage(body);
    if (refuseByRole(context, envelope)) return;
    const server = serverOf(routes, context);
    checkMirrorHeaders(context.request.headers, envelope);
    if (envelope.kind === 'answer')
      throw new RpcFault(rpcCodes.invalidRequest, 'responses need a session; use /mcp');
    if (envelope.kind === 'notification') {
      context.empty(202);
      return;
    }
    if (envelope.isModern && forwardRetry(routes, context, envelope)) return;
    if (routes.life.isEnding) throw new StoppedError('the gateway is stopping and accepts no new requests');
    const outlet = new JsonOutlet(context);
    if (!envelope.isModern)
      routes.mcp.clients.router.requestWithoutSession(server, envelope, outlet, context);
    else if (envelope.method !== 'subscriptions/listen')
      cancelOnDisconnect(
        context,
        routes.mcp.clients.router.modernRequest(envelope, { server }, outlet, context),
      );
    else
      throw new RpcFault(
        rpcCodes.methodNotFound,
        'subscriptions/listen needs a stream; use /mcp or /mcp/:id',
        envelope.rawId,
      );
  } catch (error) {
    if (error instanceof RpcFault) context.rpcFault(error.withId(envelope?.rawRequestId));
    else if (error instanceof GatewayError)
      context.rpcError(error, envelope?.rawRequestId, closeHeaders(error));
    else throw error;
  }
}

/** Throws RpcFault if the header is missing, and UnknownServerError. */
function serverOf(routes: RouteContext, context: ExchangeContext): ManagedServer {
  const { 'x-mcp-server': id = '' } = context.request.headers;
  const server = routes.mcp.servers.get(id);
  if (server !== undefined) return server;
  if (id !== '') {
    routes.requestAudit?.recordUnknown(context, id);
    return routes.mcp.servers.require(id);
  }
  throw new RpcFault(
    rpcCodes.invalidRequest,
    'the X-MCP-Server header is missing; set it to a server id (GET /servers lists them)',
  );
}

/** Cancels a request of the modern era if the client closes the connection. */
function cancelOnDisconnect(
  context: ExchangeContext,
  running: { cancel(reason?: string): void } | undefined,
): void {
  context.reply.onAbort(() => running?.cancel('the client closed the connection'));
}
