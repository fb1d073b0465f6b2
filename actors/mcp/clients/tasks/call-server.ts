// Sends a request as a plain call, or as a task if the tool requires one. Both kinds share one interface: they finish
// exactly once, and can be cancelled and suspended.

import type { CallRequest } from '../../servers/calls/call.ts';
import type { RoutedRequest } from '../routed-request.ts';
import { isCalledAsTask } from './hidden-tasks.ts';
import type { ServerCall } from './server-call.ts';
import { TaskCall } from './task-call.ts';

/** Sends the request. The exchange may finish before this function returns. */
export function callServer(route: RoutedRequest, request: CallRequest): ServerCall {
  const { server } = route;
  return isCalledAsTask(route) ? new TaskCall(server, request) : server.handle.accept(request);
}
