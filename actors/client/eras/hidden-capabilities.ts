// Capabilities of a modern client that its server must not see: roots, unless the catalog forwards them, and the tasks
// extension at the address of several servers, where a task's id would lead back to no server.
//
// Only for a server of the modern era. A request to a legacy server loses all capabilities of its client (`legacyEdits`), and
// edits inside a member that is removed would overlap with its removal.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import { changeMembers, membersOf } from '../../jsonrpc/members.ts';
import { metaKeys } from '../../jsonrpc/modern-meta.ts';
import type { Edit } from '../../jsonrpc/span.ts';
import type { RoutedRequest } from '../routed-request.ts';
import type { ModernCaller } from './modern-caller.ts';

export const TASKS = 'io.modelcontextprotocol/tasks';

const noEdits: readonly Edit[] = [];

/** Returns the edits that remove what the server must not see; for most requests none. */
export function hiddenCapabilityEdits(
  { envelope, server, merged }: RoutedRequest,
  { capabilities }: ModernCaller,
): readonly Edit[] {
  const hidesRoots = capabilities.roots !== undefined && !server.entry.forward_roots;
  const hidesTasks = merged !== undefined && capabilities.extensions !== undefined;
  if (!hidesRoots && !hidesTasks) return noEdits;
  return [...(hidesRoots ? rootsEdits(envelope) : noEdits), ...(hidesTasks ? tasksEdits(envelope) : noEdits)];
}

function rootsEdits(envelope: Envelope): readonly Edit[] {
  const span = envelope.meta(metaKeys.clientCapabilities);
  return span === undefined ? noEdits : changeMembers(envelope.bytes, span, { roots: undefined });
}

/** A member that occurs twice is changed twice: which of them a server reads is not known. */
function tasksEdits(envelope: Envelope): readonly Edit[] {
  const { bytes } = envelope;
  return membersOf(bytes, envelope.meta(metaKeys.clientCapabilities))
    .filter(({ key }) => key === 'extensions')
    .filter(({ value }) => membersOf(bytes, value).some(({ key }) => key === TASKS))
    .flatMap(({ value }) => changeMembers(bytes, value, { [TASKS]: undefined }));
}
