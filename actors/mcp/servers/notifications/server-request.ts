// Refusal of server requests (elicitation, sampling, roots) that a client does not support.

import { errorMessage } from '../../jsonrpc/compose.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import type { ServerPeer } from '../calls/owner.ts';

/** Refuses a server request that the client does not support. */
export function refuseServerRequest(connection: ServerPeer, envelope: Envelope): void {
  const message = `${envelope.method} is not available: the client did not declare it`;
  connection.sendRaw(errorMessage(envelope.rawId, rpcCodes.methodNotFound, message));
}
