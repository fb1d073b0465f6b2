// Makes the links of servers that run once in the whole cluster. To another node they lead as to any remote server: it is a gateway, and
// serves MCP at /mcp/:id.

import { LEASE_EPOCH_HEADER, type NodeWay } from '../cluster/node-way.ts';
import type { ServerPlacement } from '../cluster/server-placement.ts';
import { isAnswerTo, type MakePlacedLink } from './make-link.ts';
import { PlacedLink } from './placed-link.ts';
import { HttpLink } from './streamable-http/http-link.ts';
import { ModernHttpLink } from './streamable-http/modern-http-link.ts';

export interface PlacedLinksOptions {
  readonly placement: Pick<ServerPlacement, 'place'>;
  /** Throws UnavailableError where there is none. */
  readonly way: () => NodeWay;
}

export function placedLinks({ placement, way }: PlacedLinksOptions): MakePlacedLink {
  return (era, events, context, makeOwn) => {
    const { server, maxMessageBytes, redactor, inputSchemaOf } = context;
    return new PlacedLink({
      server,
      placement,
      events,
      makeHere: makeOwn,
      makeThere: (own, { member, epoch }) => {
        const { origin, headers, tls } = way().to(member);
        const options = {
          url: new URL(`/mcp/${encodeURIComponent(server)}`, origin),
          headers: { ...headers, [LEASE_EPOCH_HEADER]: String(epoch) },
          tls,
          maxMessageBytes,
          redactor,
          isAnswerTo,
          events: own,
        };
        return era === 'modern' ? new ModernHttpLink({ ...options, inputSchemaOf }) : new HttpLink(options);
      },
    });
  };
}
