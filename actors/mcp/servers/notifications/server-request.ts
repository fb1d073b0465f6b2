// Requests of servers to clients (elicitation, sampling, roots): which ones a client supports, and the
// refusal of others.

import { errorMessage } from '../../jsonrpc/compose.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import type { ServerPeer } from '../calls/owner.ts';

/**
 * Returns the client capabilities that allow server requests. Some servers list more items to clients with
 * them.
 */
export function requestable(capabilities: Readonly<Record<string, unknown>>): readonly string[] {
  return ['elicitation', 'sampling', 'roots'].filter((name) => capabilities[name] !== undefined);
}

/** Refuses a server request that the client does not support. */
export function refuseServerRequest(connection: ServerPeer, envelope: Envelope): void {
  const message = `${envelope.method} is not available: the client did not declare it`;
  connection.sendRaw(errorMessage(envelope.rawId, rpcCodes.methodNotFound, message));
}
