// The common interface of a plain call and of a task at a server.

import type { GatewayError } from '../../../base/errors/errors.ts';
import type { Cancellable } from '../client-exchange.ts';

/** A request in progress at a server, with one or more calls. */
export interface ServerCall extends Cancellable {
  /** Stops the deadline during a question to the client. */
  suspend(): void;
  /** Restarts the deadline. */
  resume(): void;
  /** Fails the request with this error. */
  fail(error: GatewayError): void;
}
