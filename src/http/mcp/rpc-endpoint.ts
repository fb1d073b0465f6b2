// Serves POST /rpc: one JSON-RPC message to the server named by the header X-MCP-Server. There is no session and no stream: the
// answer is JSON, and other messages of the server are dropped.

import { GatewayError, StoppedError } from '../../../actors/base/errors/errors.ts';
import type { Envelope } from '../../../actors/mcp/jsonrpc/envelope.ts';
import { readClientMessage } from '../../../actors/mcp/jsonrpc/read-message.ts';
import { RpcFault, rpcCodes } from '../../../actors/mcp/jsonrpc/rpc-fault.ts';
import { isJson } from '../listener/framing.ts';
import type { BodyProblem } from '../listener/seam.ts';
import type { RouteContext } from '../route-context.ts';
import { closing, type ExchangeContext } from './exchange-context.ts';
import { isRetryElsewhere } from './mcp-endpoint.ts';
import { checkMirrorHeaders } from './modern-endpoint.ts';
import { JsonOutlet } from './post-outlet.ts';

/** Refuses what the headers alone tell; true when the body is wanted. */
export function admitRpc(routes: RouteContext, context: ExchangeContext): boolean {
  const { 'x-mcp-server': server, 'content-type': type = '' } = context.request.headers;
  if (server === undefined || server === '') {
    const message = 'the X-MCP-Server header is missing; it names the server, GET /servers lists them';
    context.rpcFault(new RpcFault(rpcCodes.invalidRequest, message), 400);
    return false;
  }
  try {
    routes.mcp.servers.require(server);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    context.rpcError(error, undefined);
    return false;
  }
  if (!isJson(type)) {
    context.rpcFault(new RpcFault(rpcCodes.invalidRequest, 'Content-Type must be application/json'), 415);
    return false;
  }
  return true;
}

export function rpc(routes: RouteContext, context: ExchangeContext, body: Buffer | BodyProblem): void {
  if (typeof body === 'string') {
    context.refuseRpcBody(body, routes.config.limits.body_bytes);
    return;
  }
  let envelope: Envelope | undefined;
  try {
    envelope = readClientMessage(body);
    checkMirrorHeaders(context.request.headers, envelope);
    if (envelope.kind === 'answer')
      throw new RpcFault(rpcCodes.invalidRequest, 'an answer belongs to a session');
    if (envelope.kind === 'notification') {
      context.empty(202);
      return;
    }
    if (envelope.isModern && isRetryElsewhere(routes, context, envelope)) return;
    if (routes.life.isEnding) throw new StoppedError('the gateway is stopping and takes no new requests');
    const server = routes.mcp.servers.require(context.request.headers['x-mcp-server'] ?? '');
    const outlet = new JsonOutlet(context);
    if (!envelope.isModern) routes.mcp.clients.router.single(server, envelope, outlet, context);
    else if (envelope.method !== 'subscriptions/listen')
      cancelWhenGone(context, routes.mcp.clients.router.stateless(envelope, { server }, outlet, context));
    else
      throw new RpcFault(
        rpcCodes.methodNotFound,
        'subscriptions/listen needs a stream; use /mcp or /mcp/:id',
        envelope.rawId,
      );
  } catch (error) {
    if (error instanceof RpcFault) context.rpcFault(error);
    else if (error instanceof GatewayError) context.rpcError(error, envelope?.rawId, closing(error));
    else throw error;
  }
}

/** In the modern era a client that closes the connection gives its request up. */
function cancelWhenGone(
  context: ExchangeContext,
  running: { cancel(reason?: string): void } | undefined,
): void {
  context.reply.onAbort(() => running?.cancel('the client closed the connection'));
}
