// Serves POST of a message of the modern era (2026-07-28): its body holds protocol version, client and capabilities, and the
// headers repeat parts of it, which must agree. There is no session; GET and DELETE do not exist.

import { type Endpoint, profileAt, serverAt } from '../../../actors/mcp/clients/profiles/profile.ts';
import type { Envelope } from '../../../actors/mcp/jsonrpc/envelope.ts';
import { metaKeys, modernVersion } from '../../../actors/mcp/jsonrpc/modern-meta.ts';
import { RpcFault, rpcCodes } from '../../../actors/mcp/jsonrpc/rpc-fault.ts';
import { nameOf } from '../../../actors/mcp/links/streamable-http/request-metadata.ts';
import type { RouteContext } from '../route-context.ts';
import type { ExchangeContext } from './exchange-context.ts';
import { checkMirrorHeaders, checkParamHeaders, repeatsName } from './mirror-headers.ts';
import { StatelessOutlet } from './stateless-outlet.ts';

/** Whether the header MCP-Protocol-Version names a revision of the modern era, known here or not. */
export function isModernHeader(version: string | undefined): boolean {
  return version !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= modernVersion;
}

/** Answers a modern message. Throws RpcFault for one that cannot be taken. */
export function postModern(
  routes: RouteContext,
  context: ExchangeContext,
  endpoint: Endpoint,
  envelope: Envelope,
): void {
  const { headers } = context.request;
  checkHeaders(headers, envelope);
  if (envelope.kind !== 'request') {
    // Closing its stream is how a client gives a request up; there is nothing else to notify of.
    context.empty(202);
    return;
  }
  if (envelope.method === 'tools/call')
    checkParamHeaders(headers, envelope, inputSchemaOf(routes, endpoint, nameOf(envelope) ?? ''));
  const outlet = new StatelessOutlet(context, routes.heartbeat);
  try {
    const running = routes.mcp.clients.router.stateless(envelope, endpoint, outlet, context);
    outlet.whenGone(() => running?.cancel('the client closed the stream of the request'));
  } catch (error) {
    // The answer is somebody else's to give.
    outlet.leave();
    throw error;
  }
}

/** The schema by which the client had to choose its headers; undefined for a tool that is not known yet. */
function inputSchemaOf({ mcp }: RouteContext, endpoint: Endpoint, name: string): unknown {
  const server = serverAt(endpoint);
  if (server !== undefined) return server.cache.inputSchemaOf(name);
  const target = (profileAt(endpoint) ?? mcp.clients.view).aggregate.find('tools', name);
  return target?.server.cache.inputSchemaOf(target.key);
}

/** Throws RpcFault −32020 when a header is missing or differs from the body ("Server Validation"). */
function checkHeaders(headers: Readonly<Record<string, string>>, envelope: Envelope): void {
  const { 'mcp-protocol-version': version, 'mcp-method': method, 'mcp-name': name } = headers;
  const said = envelope.metaText(metaKeys.protocolVersion);
  const rawId = envelope.kind === 'request' ? envelope.rawId : undefined;
  const fault = (what: string) => new RpcFault(rpcCodes.headerMismatch, what, rawId);
  if (version === undefined) throw fault('the MCP-Protocol-Version header is missing');
  if (version !== said) throw fault('the MCP-Protocol-Version header differs from the body');
  if (envelope.kind !== 'request') return;
  if (method === undefined) throw fault('the Mcp-Method header is missing');
  checkMirrorHeaders(headers, envelope);
  if (name === undefined && repeatsName(envelope) && nameOf(envelope) !== undefined)
    throw fault('the Mcp-Name header is missing');
}
