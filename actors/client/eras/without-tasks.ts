// Removes the tasks extension from a modern client's capabilities at /mcp: a server could answer with a task, and the
// requests about that task name it by an id which leads back to no server. At /mcp/:id it works.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import { changeMembers, memberOf } from '../../jsonrpc/members.ts';
import { metaKeys } from '../../jsonrpc/modern-meta.ts';
import type { Edit } from '../../jsonrpc/span.ts';

const TASKS = 'io.modelcontextprotocol/tasks';

/** Edits, in order, that take the extension out of what a request says its client can do; mostly none. */
export function withoutTasks(envelope: Envelope): Edit[] {
  const { bytes } = envelope;
  const extensions = memberOf(bytes, envelope.meta(metaKeys.clientCapabilities), 'extensions');
  if (memberOf(bytes, extensions, TASKS) === undefined || extensions === undefined) return [];
  return changeMembers(bytes, extensions, { [TASKS]: undefined });
}
