// Errors about the node that runs a server, or about the search for it. They are no failures of the server:
// the restart policy does not count them (machines/external-failure.ts).

import type { ExternalFailure } from '../../machines/external-failure.ts';
import { ConnectionLostError, UnavailableError, UpstreamProtocolError } from '../base/errors/errors.ts';

/** The node has left the cluster, is unreachable, or no longer runs the server. */
export class NodeLostError extends ConnectionLostError implements ExternalFailure {
  readonly isExternal = true;
}

/** The node itself refused a request, for example because it is stopping. */
export class PeerRefusedError extends UpstreamProtocolError implements ExternalFailure {
  readonly isExternal = true;
}

/** This node does not know which node runs the server, or may no longer run it. */
export class NoPlacementError extends UnavailableError implements ExternalFailure {
  readonly isExternal = true;
}
