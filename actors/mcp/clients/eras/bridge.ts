// Serves clients at servers of the other protocol era: legacy (sessions) or modern (2026-07-28, stateless).
// Used by the forwarder if client and server have no era in common. Owns the suspended calls, which wait for
// an answer of a modern client, and the exclusive connections: each serves one modern request at a time at a
// legacy server.

import type { ManagedServer } from '../../servers/managed-server.ts';
import { refuseServerRequest } from '../../servers/notifications/server-request.ts';
import type { ListingClient } from '../aggregate/discovery.ts';
import type { ClientRequest, RoutedRequest } from '../routed-request.ts';
import { ExclusiveConnections } from './exclusive-connection.ts';
import { LegacyOnModern } from './legacy-on-modern.ts';
import type { ModernCaller } from './modern-caller.ts';
import { ModernOnLegacy } from './modern-on-legacy.ts';
import { SuspendedCalls } from './suspended-calls.ts';

export class EraBridge {
  readonly suspendedCalls = new SuspendedCalls();
  readonly #exclusives = new WeakMap<ManagedServer, ExclusiveConnections>();

  /** Sends a request to a server of the other era. Only requests of modern clients have a `caller`. */
  cross(route: RoutedRequest): void {
    const { server, exchange, caller } = route;
    const crossing =
      caller === undefined
        ? new LegacyOnModern(route)
        : new ModernOnLegacy(route, caller, this.suspendedCalls, this.#exclusivesOf(server));
    exchange.call = crossing;
    crossing.send();
  }

  /**
   * Returns the client as discovery needs it: capabilities, and the owner of its connections (a session or
   * an exclusive connection). Undefined for a sessionless legacy client.
   */
  listingClientOf({ session, caller }: Pick<ClientRequest, 'session' | 'caller'>): ListingClient | undefined {
    if (session !== undefined) {
      const { capabilities, era } = session;
      return { capabilities, era, withOwner: (_, visit) => visit(session) };
    }
    if (caller === undefined) return undefined;
    const withOwner: ListingClient['withOwner'] = async (server, visit) => {
      // A server that lists the same items to every client uses the shared connection.
      if (!server.mayShowMoreTo({ capabilities: caller.capabilities, era: 'modern' }))
        return visit(undefined);
      const exclusives = this.#exclusivesOf(server);
      // Only lists are requested on it, so server requests are refused and notifications are ignored.
      const exclusive = exclusives.take(caller, {
        onServerRequest: refuseServerRequest,
        onServerNotification: () => {},
      });
      await visit(exclusive).finally(() => exclusives.release(exclusive));
    };
    return { capabilities: caller.capabilities, era: 'modern', withOwner };
  }

  /** Returns true if an unused exclusive connection matches this client. */
  hasExclusive(server: ManagedServer, caller: ModernCaller): boolean {
    return this.#exclusives.get(server)?.has(caller) === true;
  }

  #exclusivesOf(server: ManagedServer): ExclusiveConnections {
    const exclusives = this.#exclusives.get(server) ?? new ExclusiveConnections(server);
    this.#exclusives.set(server, exclusives);
    return exclusives;
  }
}
