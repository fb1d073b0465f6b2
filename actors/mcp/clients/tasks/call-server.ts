// Sends a request as a plain call, or as a task if the tool requires one. Both kinds share one interface: they finish
// exactly once, and can be cancelled and suspended.

import type { GatewayError } from '../../../base/errors/errors.ts';
import type { CallRequest } from '../../servers/calls/call.ts';
import type { Cancellable } from '../client-exchange.ts';
import type { RoutedRequest } from '../routed-request.ts';
import { isCalledAsTask } from './hidden-tasks.ts';
import { TaskCall } from './task-call.ts';

/** A request in progress at a server, with one or more calls. */
export interface ServerCall extends Cancellable {
  /** Stops the deadline during a question to the client. */
  suspend(): void;
  /** Restarts the deadline. */
  resume(): void;
  /** Fails the request with this error. */
  fail(error: GatewayError): void;
}

/** Sends the request. The exchange may finish before this function returns. */
export function callServer(route: RoutedRequest, request: CallRequest): ServerCall {
  const { server } = route;
  return isCalledAsTask(route) ? new TaskCall(server, request) : server.handle.accept(request);
}
