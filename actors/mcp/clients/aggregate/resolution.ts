// Resolves a request at a merged address: the server of its name, uri or reference, and the edits of the message for that
// server. Resolution reads the merged lists only; it never starts or asks a server.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import { JsonScanner, textOf } from '../../jsonrpc/json-scanner.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { type Edit, rawJson, replacing, type Span } from '../../jsonrpc/span.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';

export interface Target {
  readonly server: ManagedServer;
  /** The name or uri as the server knows it. */
  readonly key: string;
}

/** Lookup in the merged lists. */
export interface Lookup {
  find(kind: 'tools' | 'prompts', name: string): Target | undefined;
  findUnlisted(kind: 'tools' | 'prompts', name: string): Target | undefined;
  findResource(uri: string): Target | undefined;
  findTemplate(template: string): Target | undefined;
}

/** State of the request that a lookup depends on. */
export interface Resolving {
  readonly era: Era;
  /** All lists are known that can be, so an unlisted name may be tried at the server of its prefix. */
  readonly isSettled: boolean;
}

export interface Resolution {
  readonly target: Target;
  /** Replace the merged name with the server's own. */
  readonly edits: readonly Edit[];
}

const noEdits: readonly Edit[] = [];

/** Returns the target, or the fault for an unknown name. Throws RpcFault for a malformed request. */
export function resolve(lookup: Lookup, envelope: Envelope, resolving: Resolving): Resolution | RpcFault {
  switch (envelope.method) {
    case 'tools/call':
      return byName(lookup, envelope, 'tools', resolving);
    case 'prompts/get':
      return byName(lookup, envelope, 'prompts', resolving);
    case 'completion/complete':
      return byReference(lookup, envelope);
    default:
      return byUri(lookup, envelope, resolving);
  }
}

function byName(
  lookup: Lookup,
  envelope: Envelope,
  kind: 'tools' | 'prompts',
  { isSettled }: Resolving,
): Resolution | RpcFault {
  const name = envelope.paramText('name');
  const span = envelope.param('name');
  if (name === undefined || span === undefined) throw malformed('params.name must be a string');
  const target = lookup.find(kind, name) ?? (isSettled ? lookup.findUnlisted(kind, name) : undefined);
  if (target !== undefined) return { target, edits: [replacing(span, rawJson(target.key))] };
  return kind === 'tools' ? unknownTool(name) : unknown('prompt', name);
}

function byUri(lookup: Lookup, envelope: Envelope, { era }: Resolving): Resolution | RpcFault {
  const uri = envelope.paramText('uri');
  if (uri === undefined) throw malformed('params.uri must be a string');
  const target = lookup.findResource(uri);
  if (target !== undefined) return { target, edits: noEdits };
  const code = era === 'legacy' ? rpcCodes.resourceNotFound : rpcCodes.invalidParams;
  return new RpcFault(code, 'Resource not found', undefined, { uri });
}

function byReference(lookup: Lookup, envelope: Envelope): Resolution | RpcFault {
  const reference = readReference(envelope);
  if (reference === undefined) throw malformed('params.ref must name a prompt or a resource template');
  const { name, uri = '', nameSpan } = reference;
  const target = name === undefined ? lookup.findTemplate(uri) : lookup.find('prompts', name);
  if (target === undefined) return unknown(name === undefined ? 'resource template' : 'prompt', name ?? uri);
  return { target, edits: nameSpan === undefined ? noEdits : [replacing(nameSpan, rawJson(target.key))] };
}

export function unknownTool(name: string): RpcFault {
  return new RpcFault(rpcCodes.invalidParams, `Unknown tool: ${name.slice(0, 200)}`);
}

function unknown(what: string, name: string): RpcFault {
  return new RpcFault(rpcCodes.invalidParams, `Unknown ${what}: ${name.slice(0, 200)}`);
}

function malformed(why: string): RpcFault {
  return new RpcFault(rpcCodes.invalidParams, why);
}

function readReference(envelope: Envelope): { name?: string; uri?: string; nameSpan?: Span } | undefined {
  const span = envelope.param('ref');
  const { bytes } = envelope;
  if (span === undefined || bytes[span.start] !== 0x7b) return undefined;
  const scanner = new JsonScanner(bytes, span.start);
  const found: { name?: string; uri?: string; nameSpan?: Span } = {};
  let count = 0;
  scanner.object(2, (member) => {
    const start = scanner.pos;
    scanner.value(3);
    if ((member !== 'name' && member !== 'uri') || bytes[start] !== 0x22) return;
    count += 1;
    found[member] = textOf(bytes, start, scanner.pos);
    if (member === 'name') found.nameSpan = { start, end: scanner.pos };
  });
  return count === 1 ? found : undefined;
}
