// Creates links to servers with `placement: cluster`. If the server runs on another node, the link uses that
// node's endpoint /mcp/:id like a remote MCP server. The protocol era, legacy or modern, selects the link.

import { path } from '../../libs/rest/path.ts';
import { UnavailableError } from '../base/errors/errors.ts';
import { isAnswerTo, type MakePlacedLink } from '../mcp/links/make-link.ts';
import { HttpLink } from '../mcp/links/streamable-http/http-link.ts';
import { ModernHttpLink } from '../mcp/links/streamable-http/modern-http-link.ts';
import type { Member } from '../store/membership.ts';
import { type NodeConnection, nodeHeaders } from './node-connection.ts';
import { PlacedLink } from './placed-link.ts';
import type { ServerPlacement } from './server-placement.ts';

export interface PlacedLinksOptions {
  readonly placement: Pick<ServerPlacement, 'place'>;
  /** Returns the connection data; undefined if either node has no address. */
  readonly connectionTo: (member: Member) => NodeConnection | undefined;
}

/**
 * Fraction of the start timeout for finding the node. Less than 1, so that the error names the reason, not
 * the timeout.
 */
const PATIENCE = 0.9;
const RETRY_AFTER_SECONDS = 1;

export function placedLinks({ placement, connectionTo }: PlacedLinksOptions): MakePlacedLink {
  return (entry, era, events, context, makeOwn) => {
    const { server, maxMessageBytes, ownRedactor: redactor, inputSchemaOf } = context;
    return new PlacedLink({
      server,
      patienceMs: entry.start_timeout_seconds * 1000 * PATIENCE,
      placement,
      events,
      makeLocal: makeOwn,
      makeRemote: (linkEvents, { member, epoch }) => {
        const connection = connectionTo(member);
        if (connection === undefined)
          throw new UnavailableError(
            `server ${server} runs on node ${member.name}, which this node cannot reach; set node.address on both`,
            RETRY_AFTER_SECONDS,
          );
        const options = {
          url: new URL(path`/mcp/${server}`, connection.url),
          headers: { ...connection.headers, [nodeHeaders.epoch]: String(epoch) },
          tls: connection.tls,
          maxMessageBytes,
          redactor,
          // Recognises the response to a call among the messages of the node.
          isAnswerTo,
          events: linkEvents,
        };
        return era === 'modern' ? new ModernHttpLink({ ...options, inputSchemaOf }) : new HttpLink(options);
      },
    });
  };
}
