// Sends a client's request to its server. A server that speaks the client's era gets it as it is; only a call between two
// eras goes over the bridge.

import { together } from '../../jsonrpc/span.ts';
import type { EraBridge } from '../eras/era-bridge.ts';
import { hiddenCapabilityEdits } from '../eras/hidden-capabilities.ts';
import { clientEra, type RoutedRequest } from '../routed-request.ts';
import { callServer } from '../tasks/call-server.ts';
import { taskEdits } from '../tasks/hidden-tasks.ts';
import type { InFlightLimiter } from './in-flight-limiter.ts';

export class Forwarder {
  readonly inFlight: InFlightLimiter;
  readonly #eraBridge: EraBridge;

  constructor(inFlight: InFlightLimiter, eraBridge: EraBridge) {
    this.inFlight = inFlight;
    this.#eraBridge = eraBridge;
  }

  /** Which eras the server speaks must be known (`server.eras`). */
  forward(route: RoutedRequest): void {
    const { server, exchange, caller, session, trace, home } = route;
    // The client may have cancelled while its server was looked for.
    if (exchange.isDone) return;
    exchange.server = server.id;
    if (!this.inFlight.take(exchange, server, session)) return;
    const own = clientEra(route);
    const era = server.eras.for(own) ?? 'legacy';
    if (era !== own) {
      this.#eraBridge.cross(route);
      return;
    }
    const { envelope } = route;
    let edits = together(route.edits, taskEdits(route));
    if (caller !== undefined) edits = together(edits, hiddenCapabilityEdits(route, caller));
    exchange.call = callServer(route, { envelope, exchange, owner: session, era, trace, edits, home });
  }
}
