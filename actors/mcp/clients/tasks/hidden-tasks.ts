// Removes `task` from tool calls of clients without access to the server's tasks: they could not fetch the
// result, and the specification requires to ignore an undeclared `task` (2025-11-25, "Tasks"). If a tool
// requires a task, the gateway creates one for the client (call.ts).

import { type Changes, changeMembers, noChanges } from '../../jsonrpc/members.ts';
import type { Edit } from '../../jsonrpc/span.ts';
import { clientEra, type RoutedRequest } from '../routed-request.ts';

const withoutTask: Changes = { task: undefined };
const noEdits: readonly Edit[] = [];

/** Additional lifetime of the task, so that its result can be fetched, in milliseconds. */
const MARGIN_MS = 60_000;

/** Returns true if the gateway creates a task for this call: at legacy servers (with sessions) only. */
export function isCalledAsTask(route: RoutedRequest): boolean {
  const { server, envelope, mergedTarget } = route;
  if (envelope.method !== 'tools/call' || !hidesTasks(route)) return false;
  const tool = mergedTarget?.key ?? envelope.paramText('name');
  return (
    tool !== undefined &&
    server.cache.taskTools.has(tool) &&
    server.eras.serverEraFor(clientEra(route)) !== 'modern'
  );
}

/**
 * Returns true if the client has no access to tasks: legacy clients (sessions) at /mcp and profiles, and
 * modern clients (stateless) at legacy servers.
 */
export function hidesTasks({ mergedTarget, caller, server }: RoutedRequest): boolean {
  return caller === undefined ? mergedTarget !== undefined : server.eras.serverEraFor('modern') !== 'modern';
}

/** Returns the changes of `params` that add or remove `task`; usually `noChanges`. */
export function taskChanges(route: RoutedRequest): Changes {
  if (isCalledAsTask(route)) {
    const { max_request_seconds, request_timeout_seconds } = route.server.entry;
    const waitMs = Math.max(max_request_seconds, request_timeout_seconds) * 1000;
    return { task: `{"ttl":${waitMs + MARGIN_MS}}` };
  }
  return route.envelope.param('task') !== undefined && hidesTasks(route) ? withoutTask : noChanges;
}

/** Returns `taskChanges` as edits. */
export function taskEdits(route: RoutedRequest): readonly Edit[] {
  const changes = taskChanges(route);
  const { bytes, params } = route.envelope;
  return changes === noChanges || params === undefined ? noEdits : changeMembers(bytes, params, changes);
}
