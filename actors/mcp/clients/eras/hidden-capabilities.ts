// Removes client capabilities that a modern server (stateless, 2026-07-28) must not see: `roots` (folders of
// the client), unless the server's catalog entry has `forward_roots`. Used for requests of modern clients. In
// requests to legacy servers (sessions), `legacyEdits` removes all client capabilities.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import { changeMembers } from '../../jsonrpc/members.ts';
import { metaKeys } from '../../jsonrpc/modern-meta.ts';
import type { Edit } from '../../jsonrpc/span.ts';
import type { RoutedRequest } from '../routed-request.ts';
import type { ModernCaller } from './modern-caller.ts';

const noEdits: readonly Edit[] = [];

/** Returns the edits that remove hidden capabilities; usually empty. */
export function hiddenCapabilityEdits(
  { envelope, server }: RoutedRequest,
  { capabilities }: ModernCaller,
): readonly Edit[] {
  const hidesRoots = capabilities.roots !== undefined && !server.entry.forward_roots;
  return hidesRoots ? rootsEdits(envelope) : noEdits;
}

function rootsEdits(envelope: Envelope): readonly Edit[] {
  const span = envelope.meta(metaKeys.clientCapabilities);
  return span === undefined ? noEdits : changeMembers(envelope.bytes, span, { roots: undefined });
}
