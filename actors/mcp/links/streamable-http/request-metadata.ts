// HTTP headers that repeat parts of a message, so that intermediaries can route by headers alone. Only the
// modern era of MCP has them (2026-07-28, Streamable HTTP, "Request Metadata"). They are read from the bytes
// that are sent, because servers reject messages with different headers and body.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import { metaKeys, modernVersion } from '../../jsonrpc/modern-meta.ts';
import { encodeHeaderValue, hasAnnotations, paramHeaders } from './param-headers.ts';

/** Returns a tool's parsed `inputSchema` from the last listing; undefined for an unknown tool. */
export type SchemaLookup = (tool: string) => unknown;

/** Member of `params` that `Mcp-Name` repeats, by method. `tasks/…` is the tasks extension (SEP-2663). */
const nameMembers = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

/**
 * Returns the headers for a request or notification, with lower-case names. A version or method that is not
 * header text is encoded like a name; servers reject it with −32020.
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
  // An annotation `x-mcp-header` in the schema requests an argument as a header.
  if (!hasAnnotations(inputSchema)) return headers;
  return { ...headers, ...paramHeaders(inputSchema, argumentsOf(envelope)) };
}

/** Returns the value of `Mcp-Name`; undefined if the method has none. */
export function nameOf(envelope: Envelope): string | undefined {
  const member = nameMembers.get(envelope.method);
  if (member === undefined) return undefined;
  const name = member === 'taskId' ? paramOf(envelope, member) : envelope.paramText(member);
  return typeof name === 'string' ? name : undefined;
}

/** Parsed `tools/call` arguments. */
export function argumentsOf(envelope: Envelope): unknown {
  return paramOf(envelope, 'arguments');
}

/** Returns a parsed member of `params`, also one whose position the envelope does not store. */
function paramOf(envelope: Envelope, name: string): unknown {
  const params = envelope.parse(envelope.params);
  if (typeof params !== 'object' || params === null) return undefined;
  return Object.getOwnPropertyDescriptor(params, name)?.value;
}
