// Sends a client's request to its server: as it is where both are of the same era, and across where they are not.

import { changeMembers } from '../jsonrpc/members.ts';
import { metaKeys } from '../jsonrpc/modern-meta.ts';
import { type Edit, together } from '../jsonrpc/span.ts';
import { refuseServerRequest } from '../server/askable.ts';
import type { ManagedServer } from '../server/managed-server.ts';
import type { Guest } from './discovery.ts';
import { Lanes } from './lane.ts';
import { LegacyOnModern } from './legacy-on-modern.ts';
import type { ModernAsker } from './modern-asker.ts';
import { ModernOnLegacy } from './modern-on-legacy.ts';
import { ParkedCalls } from './parked-calls.ts';
import type { Places } from './places.ts';
import { type ClientRequest, clientEra, type Route } from './route.ts';
import { signatureOf } from './signature.ts';

export class Crossings {
  readonly parked = new ParkedCalls();
  readonly places: Places;
  readonly #lanes = new WeakMap<ManagedServer, Lanes>();

  constructor(places: Places) {
    this.places = places;
  }

  /** Sends the request. Which eras the server speaks must be known (`server.eras`). */
  forward(route: Route): void {
    const { server, exchange, asker, session, trace } = route;
    // The client may have cancelled while its server was looked for.
    if (exchange.isDone) return;
    exchange.server = server.id;
    if (!this.places.take(exchange, server, session)) return;
    const own = clientEra(route);
    const era = server.eras.for(own) ?? 'legacy';
    if (era === own) {
      const { envelope } = route;
      const edits = asker === undefined ? route.edits : withoutRoots(route, asker);
      exchange.call = server.handle.accept({ envelope, exchange, owner: session, era, trace, edits });
    } else if (asker === undefined) {
      const crossing = new LegacyOnModern(route);
      exchange.call = crossing;
      crossing.send();
    } else {
      const crossing = new ModernOnLegacy(route, asker, this.parked, this.#lanesOf(server));
      exchange.call = crossing;
      crossing.send();
    }
  }

  /** Who a request has servers visited for, to learn what they list for it. */
  guestOf({ session, asker }: Pick<ClientRequest, 'session' | 'asker'>): Guest | undefined {
    if (session !== undefined) {
      const { capabilities, era } = session;
      return { capabilities, era, as: (_, visit) => visit(session) };
    }
    if (asker === undefined) return undefined;
    const as: Guest['as'] = async (server, visit) => {
      // Those that list the same for everybody are visited on the connection that requests like this one share.
      if (!server.mayShowMoreTo({ capabilities: asker.capabilities, era: 'modern' })) return visit(undefined);
      const lanes = this.#lanesOf(server);
      const lane = lanes.take(asker, {
        onServerRequest: refuseServerRequest,
        onServerNotification: () => {},
      });
      await visit(lane).finally(() => lanes.giveBack(lane, false));
    };
    return { capabilities: asker.capabilities, era: 'modern', as };
  }

  /** Whether a connection stands ready for a client that can do what this one can. */
  hasLane(server: ManagedServer, asker: ModernAsker): boolean {
    return this.#lanes.get(server)?.has(asker) === true;
  }

  #lanesOf(server: ManagedServer): Lanes {
    const lanes = this.#lanes.get(server) ?? new Lanes(server);
    this.#lanes.set(server, lanes);
    return lanes;
  }
}

/** A modern client's roots are not told to a server that is not to know them: it may widen what it allows to them. */
function withoutRoots({ server, envelope, edits }: Route, asker: ModernAsker): readonly Edit[] | undefined {
  if (asker.capabilities.roots === undefined || server.entry.forward_roots) return edits;
  const span = envelope.meta(metaKeys.clientCapabilities);
  if (span === undefined) return edits;
  return [...(edits ?? []), ...changeMembers(envelope.bytes, span, { roots: undefined })];
}

/** Signs a modern server's results with the gateway's name, for a client that knows nothing of single servers. */
export function signed({ exchange }: Route): void {
  const { dress, rewrite } = exchange;
  if (dress === undefined) return;
  const { alone } = signatureOf(dress.serverInfo);
  exchange.rewrite = (answer) => together(rewrite?.(answer), alone.edits(answer));
}
