// Resolves requests at merged addresses (/mcp, profiles): which server a name, uri or reference belongs to,
// and the edits that restore the server's own name. Only reads the merged lists; never starts or queries
// servers.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import { JsonScanner, textOf } from '../../jsonrpc/json-scanner.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { type Edit, rawJson, replaceSpan, type Span } from '../../jsonrpc/span.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';

/** Bytes of `{` and `"`. */
const BRACE = 0x7b;
const QUOTE = 0x22;

export interface ResolvedTarget {
  readonly server: ManagedServer;
  /** Name or uri as the server knows it. */
  readonly key: string;
}

/** Lookup in the merged lists. */
export interface NameLookup {
  find(kind: 'tools' | 'prompts', name: string): ResolvedTarget | undefined;
  findUnlisted(kind: 'tools' | 'prompts', name: string): ResolvedTarget | undefined;
  findResource(uri: string): ResolvedTarget | undefined;
  findTemplate(template: string): ResolvedTarget | undefined;
}

/** State of the request that a lookup depends on. */
export interface Resolving {
  readonly era: Era;
  /** True if all lists have been fetched. An unlisted name may then be sent to the server in its prefix. */
  readonly isSettled: boolean;
}

export interface Resolution {
  readonly target: ResolvedTarget;
  /** Edits that replace the merged name with the server's own. */
  readonly edits: readonly Edit[];
}

const noEdits: readonly Edit[] = [];

/** Returns the target, or a fault for unknown names. Throws RpcFault for malformed requests. */
export function resolve(lookup: NameLookup, envelope: Envelope, resolving: Resolving): Resolution | RpcFault {
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
  lookup: NameLookup,
  envelope: Envelope,
  kind: 'tools' | 'prompts',
  { isSettled }: Resolving,
): Resolution | RpcFault {
  const name = envelope.paramText('name');
  const span = envelope.param('name');
  if (name === undefined || span === undefined) throw invalidParams('params.name must be a string');
  // Unlisted names count only when all lists have been fetched (`isSettled`).
  const target = lookup.find(kind, name) ?? (isSettled ? lookup.findUnlisted(kind, name) : undefined);
  if (target !== undefined) return { target, edits: [replaceSpan(span, rawJson(target.key))] };
  return kind === 'tools' ? unknownTool(name) : unknown('prompt', name);
}

function byUri(lookup: NameLookup, envelope: Envelope, { era }: Resolving): Resolution | RpcFault {
  const uri = envelope.paramText('uri');
  if (uri === undefined) throw invalidParams('params.uri must be a string');
  const target = lookup.findResource(uri);
  if (target !== undefined) return { target, edits: uriEdits(envelope.param('uri'), uri, target) };
  // Only the legacy era (up to 2025-11-25, with sessions) has a separate code for a missing resource.
  const code = era === 'legacy' ? rpcCodes.resourceNotFound : rpcCodes.invalidParams;
  return new RpcFault(code, 'Resource not found', undefined, { uri });
}

/** Returns the edits that restore the server's own address; usually none. */
function uriEdits(span: Span | undefined, uri: string, { key }: ResolvedTarget): readonly Edit[] {
  return span === undefined || key === uri ? noEdits : [replaceSpan(span, rawJson(key))];
}

function byReference(lookup: NameLookup, envelope: Envelope): Resolution | RpcFault {
  const reference = readReference(envelope);
  if (reference === undefined) throw invalidParams('params.ref must name a prompt or a resource template');
  const { name, uri = '', nameSpan, uriSpan } = reference;
  const target = name === undefined ? lookup.findTemplate(uri) : lookup.find('prompts', name);
  if (target === undefined) return unknown(name === undefined ? 'resource template' : 'prompt', name ?? uri);
  if (nameSpan !== undefined) return { target, edits: [replaceSpan(nameSpan, rawJson(target.key))] };
  return { target, edits: uriEdits(uriSpan, uri, target) };
}

export function unknownTool(name: string): RpcFault {
  return new RpcFault(rpcCodes.invalidParams, `Unknown tool: ${name.slice(0, 200)}`);
}

function unknown(itemType: string, name: string): RpcFault {
  return new RpcFault(rpcCodes.invalidParams, `Unknown ${itemType}: ${name.slice(0, 200)}`);
}

function invalidParams(why: string): RpcFault {
  return new RpcFault(rpcCodes.invalidParams, why);
}

interface CompletionReference {
  name?: string;
  uri?: string;
  nameSpan?: Span;
  uriSpan?: Span;
}

function readReference(envelope: Envelope): CompletionReference | undefined {
  const span = envelope.param('ref');
  const { bytes } = envelope;
  if (span === undefined || bytes[span.start] !== BRACE) return undefined;
  const scanner = new JsonScanner(bytes, span.start);
  const reference: CompletionReference = {};
  let count = 0;
  // 2 and 3 are nesting depths: the scanner rejects messages that are nested too deep.
  scanner.object(2, (member) => {
    const start = scanner.pos;
    scanner.value(3);
    if ((member !== 'name' && member !== 'uri') || bytes[start] !== QUOTE) return;
    count += 1;
    reference[member] = textOf(bytes, start, scanner.pos);
    reference[member === 'name' ? 'nameSpan' : 'uriSpan'] = { start, end: scanner.pos };
  });
  // A reference has either a name or a uri.
  return count === 1 ? reference : undefined;
}
