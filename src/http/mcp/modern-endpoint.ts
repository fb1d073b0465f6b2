// Serves POST of a message of the modern era (2026-07-28): its body holds protocol version, client and capabilities, and the
// headers repeat parts of it, which must agree. There is no session; GET and DELETE do not exist.

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

const PLAIN = /^[\t\x20-\x7e]*$/;
const SENTINEL = /^=\?base64\?(.*)\?=$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const INTEGER = /^-?\d+(?:\.0*)?$/;

/**
 * Throws RpcFault −32020 if a header differs from the body: proxies route by headers, and servers act on the body (2026-07-28,
 * "Server Validation").
 */
export function checkMirrorHeaders(headers: Headers, envelope: Envelope): void {
  const { 'mcp-method': method, 'mcp-name': name } = headers;
  if (method !== undefined && method !== envelope.method) throw mismatch('Mcp-Method', envelope);
  if (name === undefined) return;
  const own = nameOf(envelope);
  if (own !== undefined ? decoded(name) !== own : repeatsName(envelope)) throw mismatch('Mcp-Name', envelope);
}

/** Returns true if the specification requires `Mcp-Name` for the method. */
function repeatsName({ method }: Envelope): boolean {
  return method === 'tools/call' || method === 'prompts/get' || method === 'resources/read';
}

/**
 * Throws RpcFault −32020 if a header of a `tools/call` differs from the argument that the schema of the tool
 * annotates ("Server Behavior for Custom Headers").
 */
function checkParamHeaders(headers: Headers, envelope: Envelope, inputSchema: unknown): void {
  if (inputSchema === undefined) return;
  for (const { header, value } of annotatedArguments(inputSchema, argumentsOf(envelope)))
    if (!agrees(headers[header], value)) throw mismatch(header, envelope);
}

function agrees(header: string | undefined, value: unknown): boolean {
  const text = header === undefined ? undefined : decoded(header);
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

/** Decodes `=?base64?…?=`, the form of unsafe text; returns undefined for invalid values. */
function decoded(value: string): string | undefined {
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
function inputSchemaOf({ mcp }: RouteContext, { server, profile }: Endpoint, name: string): unknown {
  if (server !== undefined) return server.cache.inputSchemaOf(name);
  const target = (profile ?? mcp.clients.view).aggregate.find('tools', name);
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
