// Carries calls between the eras, from a client of one era to a server of the other. Keeps the calls that are suspended while
// their clients are asked, and the exclusive connections of each server.

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
  readonly suspended = new SuspendedCalls();
  readonly #exclusives = new WeakMap<ManagedServer, ExclusiveConnections>();

  /** Sends a request to a server that does not speak the era of its client. */
  cross(route: RoutedRequest): void {
    const { server, exchange, caller } = route;
    const crossing =
      caller === undefined
        ? new LegacyOnModern(route)
        : new ModernOnLegacy(route, caller, this.suspended, this.#exclusivesOf(server));
    exchange.call = crossing;
    crossing.send();
  }

  /** Who a request has servers visited for, to learn what they list for it. */
  listingClientOf({ session, caller }: Pick<ClientRequest, 'session' | 'caller'>): ListingClient | undefined {
    if (session !== undefined) {
      const { capabilities, era } = session;
      return { capabilities, era, as: (_, visit) => visit(session) };
    }
    if (caller === undefined) return undefined;
    const as: ListingClient['as'] = async (server, visit) => {
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
