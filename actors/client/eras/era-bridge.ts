// Sends a client's request to its server: as it is where both are of the same era, and across where they are not.

import { changeMembers } from '../../jsonrpc/members.ts';
import { metaKeys } from '../../jsonrpc/modern-meta.ts';
import { type Edit, together } from '../../jsonrpc/span.ts';
import type { ManagedServer } from '../../server/managed-server.ts';
import { refuseServerRequest } from '../../server/notifications/server-request.ts';
import type { Guest } from '../aggregate/discovery.ts';
import { type ClientRequest, clientEra, type RoutedRequest } from '../routed-request.ts';
import type { InFlightLimiter } from '../routing/in-flight-limiter.ts';
import { ExclusiveConnections } from './exclusive-connection.ts';
import { LegacyOnModern } from './legacy-on-modern.ts';
import type { ModernCaller } from './modern-caller.ts';
import { ModernOnLegacy } from './modern-on-legacy.ts';
import { resultMetadataOf } from './result-metadata.ts';
import { SuspendedCalls } from './suspended-calls.ts';

export class EraBridge {
  readonly suspended = new SuspendedCalls();
  readonly places: InFlightLimiter;
  readonly #exclusives = new WeakMap<ManagedServer, ExclusiveConnections>();

  constructor(places: InFlightLimiter) {
    this.places = places;
  }

  /** Sends the request. Which eras the server speaks must be known (`server.eras`). */
  forward(route: RoutedRequest): void {
    const { server, exchange, caller, session, trace } = route;
    // The client may have cancelled while its server was looked for.
    if (exchange.isDone) return;
    exchange.server = server.id;
    if (!this.places.take(exchange, server, session)) return;
    const own = clientEra(route);
    const era = server.eras.for(own) ?? 'legacy';
    if (era === own) {
      const { envelope } = route;
      const edits = caller === undefined ? route.edits : withoutRoots(route, caller);
      exchange.call = server.handle.accept({ envelope, exchange, owner: session, era, trace, edits });
    } else if (caller === undefined) {
      const crossing = new LegacyOnModern(route);
      exchange.call = crossing;
      crossing.send();
    } else {
      const crossing = new ModernOnLegacy(route, caller, this.suspended, this.#exclusivesOf(server));
      exchange.call = crossing;
      crossing.send();
    }
  }

  /** Who a request has servers visited for, to learn what they list for it. */
  guestOf({ session, caller }: Pick<ClientRequest, 'session' | 'caller'>): Guest | undefined {
    if (session !== undefined) {
      const { capabilities, era } = session;
      return { capabilities, era, as: (_, visit) => visit(session) };
    }
    if (caller === undefined) return undefined;
    const as: Guest['as'] = async (server, visit) => {
      // Those that list the same for everybody are visited on the connection that requests like this one share.
      if (!server.mayShowMoreTo({ capabilities: caller.capabilities, era: 'modern' }))
        return visit(undefined);
      const exclusives = this.#exclusivesOf(server);
      const exclusive = exclusives.take(caller, {
        onServerRequest: refuseServerRequest,
        onServerNotification: () => {},
      });
      await visit(exclusive).finally(() => exclusives.giveBack(exclusive, false));
    };
    return { capabilities: caller.capabilities, era: 'modern', as };
  }

  /** Whether a connection stands ready for a client that can do what this one can. */
  hasExclusive(server: ManagedServer, caller: ModernCaller): boolean {
    return this.#exclusives.get(server)?.has(caller) === true;
  }

  #exclusivesOf(server: ManagedServer): ExclusiveConnections {
    const exclusives = this.#exclusives.get(server) ?? new ExclusiveConnections(server);
    this.#exclusives.set(server, exclusives);
    return exclusives;
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

/** Signs a modern server's results with the gateway's name, for a client that knows nothing of single servers. */
export function withGatewayMetadata({ exchange }: RoutedRequest): void {
  const { dress, rewrite } = exchange;
  if (dress === undefined) return;
  const { alone } = resultMetadataOf(dress.serverInfo);
  exchange.rewrite = (answer) => together(rewrite?.(answer), alone.edits(answer));
}
