// Sends a client's request to its server. A server that speaks the client's era gets it as it is; only a call between two
// eras goes over the bridge.

import { changeMembers } from '../../jsonrpc/members.ts';
import { metaKeys } from '../../jsonrpc/modern-meta.ts';
import type { Edit } from '../../jsonrpc/span.ts';
import type { EraBridge } from '../eras/era-bridge.ts';
import type { ModernCaller } from '../eras/modern-caller.ts';
import { clientEra, type RoutedRequest } from '../routed-request.ts';
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
    const { server, exchange, caller, session, trace } = route;
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
    const edits = caller === undefined ? route.edits : withoutRoots(route, caller);
    exchange.call = server.handle.accept({ envelope, exchange, owner: session, era, trace, edits });
  }
}

/** A modern client's roots are not told to a server that is not to know them: it may widen what it allows to them. */
function withoutRoots(
  { server, envelope, edits }: RoutedRequest,
  caller: ModernCaller,
): readonly Edit[] | undefined {
  if (caller.capabilities.roots === undefined || server.entry.forward_roots) return edits;
  const span = envelope.meta(metaKeys.clientCapabilities);
  if (span === undefined) return edits;
  return [...(edits ?? []), ...changeMembers(envelope.bytes, span, { roots: undefined })];
}
