// Removes client capabilities from requests to modern servers (stateless, 2026-07-28): `roots`, unless the
// server's catalog entry forwards them. For legacy servers `legacyEdits` removes all client capabilities.

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
