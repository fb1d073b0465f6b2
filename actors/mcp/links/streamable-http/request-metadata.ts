// The headers in which a message of the modern era repeats parts of its body, so that what stands between us and the
// server can route without reading it. A server refuses a message whose headers and body differ: they are taken from
// the very bytes that are sent. (MCP 2026-07-28, Streamable HTTP, "Request Metadata".)

import type { Envelope } from '../../jsonrpc/envelope.ts';
import { metaKeys, modernVersion } from '../../jsonrpc/modern-meta.ts';
import { encodeHeaderValue, hasAnnotations, paramHeaders } from './param-headers.ts';

/** The parsed `inputSchema` of a tool as its server listed it last; undefined for a tool that is not known. */
export type SchemaLookup = (tool: string) => unknown;

/** Which member of `params` is repeated in `Mcp-Name`; `tasks/…` by the tasks extension (SEP-2663). */
const nameMembers = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

/**
 * The headers for a request or notification, with lower-case names. A version or method that is no header text is
 * encoded like a name: servers refuse it then with −32020, as no spelling of it would be allowed.
 */
export function metadataHeaders(envelope: Envelope, inputSchemaOf: SchemaLookup): Record<string, string> {
  const headers: Record<string, string> = {
    'mcp-protocol-version': encodeHeaderValue(envelope.metaText(metaKeys.protocolVersion) ?? modernVersion),
    'mcp-method': encodeHeaderValue(envelope.method),
  };
  const name = nameOf(envelope);
  if (name === undefined) return headers;
  headers['mcp-name'] = encodeHeaderValue(name);
  if (envelope.method !== 'tools/call') return headers;
  const inputSchema = inputSchemaOf(name);
  if (!hasAnnotations(inputSchema)) return headers;
  return { ...headers, ...paramHeaders(inputSchema, argumentsOf(envelope)) };
}

/** What `Mcp-Name` repeats; undefined where it repeats nothing. */
export function nameOf(envelope: Envelope): string | undefined {
  const member = nameMembers.get(envelope.method);
  if (member === undefined) return undefined;
  const name = member === 'taskId' ? paramOf(envelope, member) : envelope.paramText(member);
  return typeof name === 'string' ? name : undefined;
}

/** The parsed arguments of a `tools/call`. */
export function argumentsOf(envelope: Envelope): unknown {
  return paramOf(envelope, 'arguments');
}

/** A member of `params` that the envelope does not watch, parsed. */
function paramOf(envelope: Envelope, name: string): unknown {
  const params = envelope.parse(envelope.params);
  if (typeof params !== 'object' || params === null) return undefined;
  return Object.getOwnPropertyDescriptor(params, name)?.value;
}
