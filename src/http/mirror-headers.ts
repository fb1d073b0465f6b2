// `Mcp-Method` and `Mcp-Name` repeat what stands in the body, so that a proxy can route without reading it. Where
// they are sent they must agree with it: otherwise the proxy and the server would act on different things.

import type { Envelope } from '../../actors/jsonrpc/envelope.ts';
import { RpcFault, rpcCodes } from '../../actors/jsonrpc/rpc-fault.ts';

const nameMembers: Record<string, 'name' | 'uri'> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

/** What the header `Mcp-Name` repeats; undefined where it repeats nothing. */
export function mirroredName(envelope: Envelope): string | undefined {
  const member = Object.hasOwn(nameMembers, envelope.method) ? nameMembers[envelope.method] : undefined;
  return member === undefined ? undefined : envelope.paramText(member);
}

/** Throws RpcFault −32020 when a header differs from the body (spec revision 2026-07-28, "Standard Headers"). */
export function checkMirrorHeaders(headers: Readonly<Record<string, string>>, envelope: Envelope): void {
  const { 'mcp-method': method, 'mcp-name': name } = headers;
  if (method !== undefined && method !== envelope.method) throw mismatch('Mcp-Method', envelope);
  if (name === undefined) return;
  if (Object.hasOwn(nameMembers, envelope.method) && decoded(name) !== mirroredName(envelope))
    throw mismatch('Mcp-Name', envelope);
}

/** Names that are no plain header text come as `=?base64?…?=`. */
function decoded(value: string): string {
  const match = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value);
  return match?.[1] === undefined ? value : Buffer.from(match[1], 'base64').toString('utf8');
}

function mismatch(header: string, envelope: Envelope): RpcFault {
  return new RpcFault(
    rpcCodes.headerMismatch,
    `the ${header} header differs from the body`,
    envelope.kind === 'request' ? envelope.rawId : undefined,
  );
}
