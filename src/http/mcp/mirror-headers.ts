// Validates the headers `Mcp-Method`, `Mcp-Name` and `Mcp-Param-…`, which repeat parts of the body so that a proxy can
// route without reading it. They must agree with it: otherwise the proxy and the server would act on different things
// (2026-07-28, Streamable HTTP, "Server Validation").

import { isUtf8 } from 'node:buffer';
import type { Envelope } from '../../../actors/mcp/jsonrpc/envelope.ts';
import { RpcFault, rpcCodes } from '../../../actors/mcp/jsonrpc/rpc-fault.ts';
import { annotatedArguments } from '../../../actors/mcp/links/streamable-http/param-headers.ts';
import { argumentsOf, nameOf } from '../../../actors/mcp/links/streamable-http/request-metadata.ts';

type Headers = Readonly<Record<string, string>>;

const PLAIN = /^[\t\x20-\x7e]*$/;
const SENTINEL = /^=\?base64\?(.*)\?=$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const INTEGER = /^-?\d+(?:\.0*)?$/;

/** Throws RpcFault −32020 when a header differs from the body. */
export function checkMirrorHeaders(headers: Headers, envelope: Envelope): void {
  const { 'mcp-method': method, 'mcp-name': name } = headers;
  if (method !== undefined && method !== envelope.method) throw mismatch('Mcp-Method', envelope);
  if (name === undefined) return;
  const own = nameOf(envelope);
  if (own !== undefined ? decoded(name) !== own : repeatsName(envelope)) throw mismatch('Mcp-Name', envelope);
}

/** Whether the specification wants `Mcp-Name` with a request of this method. */
export function repeatsName({ method }: Envelope): boolean {
  return method === 'tools/call' || method === 'prompts/get' || method === 'resources/read';
}

/**
 * Throws RpcFault −32020 when the headers of a `tools/call` do not say what its arguments do where the tool's schema
 * wants them to ("Server Behavior for Custom Headers").
 */
export function checkParamHeaders(headers: Headers, envelope: Envelope, inputSchema: unknown): void {
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
      // A client may well leave out an integer whose digits it could not keep.
      if (header === undefined) return !Number.isSafeInteger(value) && Number.isInteger(value);
      return text === String(value) || (text !== undefined && INTEGER.test(text) && Number(text) === value);
    default:
      return header === undefined;
  }
}

/** Text that is not safe in a header comes as `=?base64?…?=`; undefined for what no client may send. */
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
