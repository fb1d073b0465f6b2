// Sends a request to its server as one call, or as a task where the tool works no other way. The sender does not notice the
// difference: both end once, are cancelled alike, and can be suspended.

import type { GatewayError } from '../../errors.ts';
import type { CallRequest } from '../../server/calls/call.ts';
import type { Cancellable } from '../client-exchange.ts';
import type { RoutedRequest } from '../routed-request.ts';
import { isCalledAsTask } from './hidden-tasks.ts';
import { TaskCall } from './task-call.ts';

/** A request at its server, whatever calls it takes. */
export interface ServerCall extends Cancellable {
  /** Stops the deadline while the client is asked something. */
  suspend(): void;
  /** Starts the deadline anew. */
  resume(): void;
  /** Ends the request with this error. */
  fail(error: GatewayError): void;
}

/** Sends the request; it ends through its exchange, perhaps before this returns. */
export function callServer(route: RoutedRequest, request: CallRequest): ServerCall {
  const { server } = route;
  return isCalledAsTask(route) ? new TaskCall(server, request) : server.handle.accept(request);
}
