// Which requests a client can get from a server, by its capabilities, and the refusal of all others.

import { errorMessage } from '../../jsonrpc/compose.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import type { ServerPeer } from '../calls/call-owner.ts';

/** What a client of these capabilities can be asked; some servers list more for those who can be asked more. */
export function requestable(capabilities: Readonly<Record<string, unknown>>): readonly string[] {
  return ['elicitation', 'sampling', 'roots'].filter((name) => capabilities[name] !== undefined);
}

/** The answer to a server that asks for what the client never declared. */
export function refuseServerRequest(connection: ServerPeer, envelope: Envelope): void {
  const what = `${envelope.method} is not available: the client did not declare it`;
  connection.sendRaw(errorMessage(envelope.rawId, rpcCodes.methodNotFound, what));
}
