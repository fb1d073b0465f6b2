// Makes the links of servers that run once in the whole cluster. To another node they lead as to any remote server: it is a gateway, and
// serves MCP at /mcp/:id.

import { path } from '../../libs/rest/path.ts';
import { UnavailableError } from '../base/errors/errors.ts';
import { isAnswerTo, type MakePlacedLink } from '../mcp/links/make-link.ts';
import { HttpLink } from '../mcp/links/streamable-http/http-link.ts';
import { ModernHttpLink } from '../mcp/links/streamable-http/modern-http-link.ts';
import type { Member } from '../store/membership.ts';
import { type NodeWay, nodeHeaders } from './node-ways.ts';
import { PlacedLink } from './placed-link.ts';
import type { ServerPlacement } from './server-placement.ts';

export interface PlacedLinksOptions {
  readonly placement: Pick<ServerPlacement, 'place'>;
  /** Undefined where this node has no address, or that one. */
  readonly wayTo: (member: Member) => NodeWay | undefined;
}

/** Of the time for a start: so that the reason is told, and not that it has run out. */
const PATIENCE = 0.9;

export function placedLinks({ placement, wayTo }: PlacedLinksOptions): MakePlacedLink {
  return (entry, era, events, context, makeOwn) => {
    const { server, maxMessageBytes, ownRedactor: redactor, inputSchemaOf } = context;
    return new PlacedLink({
      server,
      patienceMs: entry.start_timeout_seconds * 1000 * PATIENCE,
      placement,
      events,
      makeHere: makeOwn,
      makeThere: (own, { member, epoch }) => {
        const way = wayTo(member);
        if (way === undefined)
          throw new UnavailableError(
            `server ${server} runs at node ${member.name}; without node.address at both this one cannot reach it`,
            1,
          );
        const options = {
          url: new URL(path`/mcp/${server}`, way.url),
          headers: { ...way.headers, [nodeHeaders.epoch]: String(epoch) },
          tls: way.tls,
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
