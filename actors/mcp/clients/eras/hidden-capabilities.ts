// Removes client capabilities from requests to modern servers: roots, unless the catalog forwards them; and,
// at merged addresses, the tasks extension, because task ids do not identify a server there. For legacy
// servers `legacyEdits` removes all client capabilities.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import { changeMembers, membersOf } from '../../jsonrpc/members.ts';
import { metaKeys } from '../../jsonrpc/modern-meta.ts';
import type { Edit } from '../../jsonrpc/span.ts';
import type { RoutedRequest } from '../routed-request.ts';
import type { ModernCaller } from './modern-caller.ts';

export const TASKS = 'io.modelcontextprotocol/tasks';

const noEdits: readonly Edit[] = [];

/** Returns the edits that remove hidden capabilities; usually empty. */
export function hiddenCapabilityEdits(
  { envelope, server, mergedTarget }: RoutedRequest,
  { capabilities }: ModernCaller,
): readonly Edit[] {
  const hidesRoots = capabilities.roots !== undefined && !server.entry.forward_roots;
  const hidesTasks = mergedTarget !== undefined && capabilities.extensions !== undefined;
  if (!hidesRoots && !hidesTasks) return noEdits;
  return [...(hidesRoots ? rootsEdits(envelope) : noEdits), ...(hidesTasks ? tasksEdits(envelope) : noEdits)];
}

function rootsEdits(envelope: Envelope): readonly Edit[] {
  const span = envelope.meta(metaKeys.clientCapabilities);
  return span === undefined ? noEdits : changeMembers(envelope.bytes, span, { roots: undefined });
}

/** Edits every duplicate of the member, because parsers disagree about which duplicate counts. */
function tasksEdits(envelope: Envelope): readonly Edit[] {
  const { bytes } = envelope;
  return membersOf(bytes, envelope.meta(metaKeys.clientCapabilities))
    .filter(({ key }) => key === 'extensions')
    .filter(({ value }) => membersOf(bytes, value).some(({ key }) => key === TASKS))
    .flatMap(({ value }) => changeMembers(bytes, value, { [TASKS]: undefined }));
}
