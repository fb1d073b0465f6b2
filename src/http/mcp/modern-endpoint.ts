// Serves POST for messages of the modern era (revision 2026-07-28). There are no sessions: each message
// contains protocol version, client and capabilities, and the headers must repeat parts of the body.

import { isUtf8 } from 'node:buffer';
import type { Endpoint } from '../../../actors/mcp/clients/profiles/profile.ts';
import type { Envelope } from '../../../actors/mcp/jsonrpc/envelope.ts';
import { metaKeys, modernVersion } from '../../../actors/mcp/jsonrpc/modern-meta.ts';
import { RpcFault, rpcCodes } from '../../../actors/mcp/jsonrpc/rpc-fault.ts';
import { annotatedArguments } from '../../../actors/mcp/links/streamable-http/param-headers.ts';
import { argumentsOf, nameOf } from '../../../actors/mcp/links/streamable-http/request-metadata.ts';
import type { RouteContext } from '../route-context.ts';
import type { ExchangeContext } from './exchange-context.ts';
import { StatelessOutlet } from './stateless-outlet.ts';

type Headers = Readonly<Record<string, string>>;

/** Characters that a header may contain unencoded. */
const PLAIN = /^[\t\x20-\x7e]*$/;
/** Encoded header value; the group contains the Base64 text. */
const SENTINEL = /^=\?base64\?(.*)\?=$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const INTEGER = /^-?\d+(?:\.0*)?$/;

/**
 * Throws RpcFault −32020 if Mcp-Method or Mcp-Name differs from the body: proxies route by headers, servers
 * use the body (2026-07-28, "Server Validation").
 */
export function checkMirrorHeaders(headers: Headers, envelope: Envelope): void {
  const { 'mcp-method': method, 'mcp-name': name } = headers;
  if (method !== undefined && method !== envelope.method) throw mismatch('Mcp-Method', envelope);
  if (name === undefined) return;
  const bodyName = nameOf(envelope);
  // Other methods have no name in the body; then the header is ignored.
  const isMismatch = bodyName === undefined ? requiresNameHeader(envelope) : decodeHeader(name) !== bodyName;
  if (isMismatch) throw mismatch('Mcp-Name', envelope);
}

/** Returns true if the specification requires `Mcp-Name` for the method. */
function requiresNameHeader({ method }: Envelope): boolean {
  return method === 'tools/call' || method === 'prompts/get' || method === 'resources/read';
}

/**
 * Throws RpcFault −32020 if a custom header of `tools/call` differs from the argument in the body. The tool's
 * input schema declares which arguments the client must repeat in headers ("Server Behavior for Custom
 * Headers").
 */
function checkParamHeaders(headers: Headers, envelope: Envelope, inputSchema: unknown): void {
  if (inputSchema === undefined) return;
  for (const { header, value } of annotatedArguments(inputSchema, argumentsOf(envelope)))
    if (!matchesHeader(headers[header], value)) throw mismatch(header, envelope);
}

/** Returns true if the header contains the value, or if both are missing. */
function matchesHeader(header: string | undefined, value: unknown): boolean {
  const text = header === undefined ? undefined : decodeHeader(header);
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return text === String(value);
    case 'number':
      // A client may omit an integer that exceeds its precision.
      if (header === undefined) return !Number.isSafeInteger(value) && Number.isInteger(value);
      return text === String(value) || (text !== undefined && INTEGER.test(text) && Number(text) === value);
    default:
      return header === undefined;
  }
}

/**
 * Returns a header value as text. Text with special characters is sent as `=?base64?…?=`. Undefined if
 * invalid.
 */
function decodeHeader(value: string): string | undefined {
  if (!PLAIN.test(value)) return undefined;
  const inside = SENTINEL.exec(value)?.[1];
  if (inside === undefined) return value;
  const bytes = Buffer.from(inside, 'base64');
  return BASE64.test(inside) && isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}

function mismatch(header: string, envelope: Envelope): RpcFault {
  return new RpcFault(
    rpcCodes.headerMismatch,
    `the ${header} header is missing or differs from the body`,
    envelope.kind === 'request' ? envelope.rawId : undefined,
  );
}

/**
 * Returns true if the version in MCP-Protocol-Version belongs to the modern era, even if it is unsupported.
 */
export function isModernHeader(version: string | undefined): boolean {
  return version !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= modernVersion;
}

/** Handles a modern message. Throws RpcFault if invalid. */
export function postModern(
  routes: RouteContext,
  context: ExchangeContext,
  endpoint: Endpoint,
  envelope: Envelope,
): void {
  const { headers } = context.request;
  checkHeaders(headers, envelope);
  if (envelope.kind !== 'request') {
    // Notifications are ignored: a client cancels a request by closing its stream.
    context.empty(202);
    return;
  }
  if (envelope.method === 'tools/call')
    checkParamHeaders(headers, envelope, inputSchemaOf(routes, endpoint, nameOf(envelope) ?? ''));
  // Closed when the access key of the client is revoked; other requests are answered.
  if (envelope.method === 'subscriptions/listen') routes.accessKeys.watch(context.principal, context.reply);
  const outlet = new StatelessOutlet(context, routes.heartbeat);
  try {
    const running = routes.mcp.clients.router.modernRequest(envelope, endpoint, outlet, context);
    outlet.onDisconnect(() => running?.cancel('the client closed the stream of the request'));
  } catch (error) {
    // The caller responds to the error.
    outlet.abandon();
    throw error;
  }
}

/** Returns the tool's input schema; undefined for unknown tools. */
function inputSchemaOf({ mcp }: RouteContext, { server, profile }: Endpoint, name: string): unknown {
  if (server !== undefined) return server.cache.inputSchemaOf(name);
  const target = (profile ?? mcp.clients.view).aggregate.find('tools', name);
  return target?.server.cache.inputSchemaOf(target.key);
}

/**
 * Throws RpcFault −32020 if a required header is missing, or if a header differs from the body. Unlike
 * checkMirrorHeaders, requires the headers ("Server Validation").
 */
function checkHeaders(headers: Readonly<Record<string, string>>, envelope: Envelope): void {
  const { 'mcp-protocol-version': version, 'mcp-method': method, 'mcp-name': name } = headers;
  const bodyVersion = envelope.metaText(metaKeys.protocolVersion);
  const rawId = envelope.kind === 'request' ? envelope.rawId : undefined;
  const fault = (message: string) => new RpcFault(rpcCodes.headerMismatch, message, rawId);
  if (version === undefined) throw fault('the MCP-Protocol-Version header is missing');
  if (version !== bodyVersion) throw fault('the MCP-Protocol-Version header differs from the body');
  if (envelope.kind !== 'request') return;
  if (method === undefined) throw fault('the Mcp-Method header is missing');
  checkMirrorHeaders(headers, envelope);
  if (name === undefined && requiresNameHeader(envelope) && nameOf(envelope) !== undefined)
    throw fault('the Mcp-Name header is missing');
}
