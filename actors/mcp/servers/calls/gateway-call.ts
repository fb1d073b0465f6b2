// The gateway's own requests to a server: initialisation, lists, pings, listens. They go the way of all calls, but no
// pool member counts them: they are no use of the server (H4), have no place in the bounds, and are never sent a second
// time.
//
// OC1  the gateway asks in its own name and offers nothing, so that a server can ask nothing in return.

import { requestMessage } from '../../jsonrpc/compose.ts';
import { type Era, modernMeta } from '../../jsonrpc/modern-meta.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import { Call, type Exchange } from './call.ts';

export interface GatewayRequest {
  readonly server: string;
  /** In which form the message is written. */
  readonly era: Era;
  /** Who asks; a legacy server has been told at `initialize`. */
  readonly clientInfo: unknown;
  readonly method: string;
  readonly params: object | undefined;
  /** May be infinite. */
  readonly timeoutMs: number;
}

/** A call to be sent on a connection of that era. Its deadline runs from now on. */
export function gatewayCall(asked: GatewayRequest, exchange: Exchange): Call {
  const { server, era, clientInfo, method, params, timeoutMs } = asked;
  const given =
    era === 'legacy' ? params : { ...params, _meta: modernMeta({ clientInfo, capabilities: {} }) };
  const envelope = readServerMessage(requestMessage('0', method, given));
  return new Call({ envelope, exchange, era }, { server, patience: { timeoutMs, maxMs: timeoutMs } });
}
