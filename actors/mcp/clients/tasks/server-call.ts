// Common interface of plain calls and of calls that run as tasks (call.ts), for the conversion between
// protocol eras (eras/modern-on-legacy.ts), which suspends and resumes calls.

import type { GatewayError } from '../../../base/errors/errors.ts';
import type { Cancellable } from '../exchange.ts';

/** An active request at a server, with one or more calls. */
export interface ServerCall extends Cancellable {
  /** Stops the deadline until the client answers a server request. */
  suspend(): void;
  /** Restarts the deadline. */
  resume(): void;
  /** Fails the request with this error. */
  fail(error: GatewayError): void;
}
