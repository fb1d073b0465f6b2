// The `task` parameter of a tool call whose client cannot use the tasks of the server. A task made for it would be lost, since
// the client could not ask for its result; the specification demands that an undeclared `task` is ignored (2025-11-25, "Tasks").
// A tool that works as a task only is called as one by the gateway (task-call.ts).

import { type Changes, changeMembers, noChanges } from '../../jsonrpc/members.ts';
import type { Edit } from '../../jsonrpc/span.ts';
import { clientEra, type RoutedRequest } from '../routed-request.ts';

const withoutTask: Changes = { task: undefined };
const noEdits: readonly Edit[] = [];

/** Time that a finished task stays at its server for the gateway to fetch its result, in milliseconds. */
const MARGIN_MS = 60_000;

/** Whether the gateway calls the tool as a task of its own, at a server of the legacy era. */
export function isCalledAsTask(route: RoutedRequest): boolean {
  const { server, envelope, merged } = route;
  if (envelope.method !== 'tools/call' || !hidesTasks(route)) return false;
  const tool = merged?.key ?? envelope.paramText('name');
  return tool !== undefined && server.cache.needsTask(tool) && server.eras.for(clientEra(route)) !== 'modern';
}

/** Whether the client knows of no task of this server: at the address of several, and across the eras. */
export function hidesTasks({ merged, caller, server }: RoutedRequest): boolean {
  return merged !== undefined || (caller !== undefined && server.eras.for('modern') !== 'modern');
}

/** Returns what changes in the params of a request, by its client's use of tasks; for most requests nothing. */
export function taskChanges(route: RoutedRequest): Changes {
  if (isCalledAsTask(route)) {
    const { max_request_seconds, request_timeout_seconds } = route.server.entry;
    const waitMs = Math.max(max_request_seconds, request_timeout_seconds) * 1000;
    return { task: `{"ttl":${waitMs + MARGIN_MS}}` };
  }
  return route.envelope.param('task') !== undefined && hidesTasks(route) ? withoutTask : noChanges;
}

/** As `taskChanges`, as edits. */
export function taskEdits(route: RoutedRequest): readonly Edit[] {
  const changes = taskChanges(route);
  const { bytes, params } = route.envelope;
  return changes === noChanges || params === undefined ? noEdits : changeMembers(bytes, params, changes);
}
