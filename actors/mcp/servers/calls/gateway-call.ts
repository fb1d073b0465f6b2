// Calls of the gateway itself to a server: the handshake, lists, pings, listen requests. They use the same
// connections as client calls, but do not count as use (H4, handle.ts) and have no limits or retries. The
// gateway declares no client capabilities except a client's extensions, so servers send it no requests.

import { requestMessage } from '../../jsonrpc/compose.ts';
import { type Era, modernMeta } from '../../jsonrpc/modern-meta.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import { Call, type CallExchange } from './call.ts';

export interface GatewayRequest {
  readonly server: string;
  /** Protocol era of the message: `legacy` (sessions) or `modern` (stateless requests). */
  readonly era: Era;
  /** Client information for the modern era. A legacy server received it at `initialize`. */
  readonly clientInfo: unknown;
  /** Client capabilities for the modern era. @default {} */
  readonly capabilities?: object | undefined;
  readonly method: string;
  readonly params: object | undefined;
  /** May be infinite. */
  readonly timeoutMs: number;
}

/** Creates a call for a connection of that era. The deadline starts now. */
export function gatewayCall(request: GatewayRequest, exchange: CallExchange): Call {
  const { server, era, clientInfo, capabilities = {}, method, params, timeoutMs } = request;
  const messageParams =
    era === 'legacy' ? params : { ...params, _meta: modernMeta({ clientInfo, capabilities }) };
  // The connection replaces the id `0` when it sends the call.
  const envelope = readServerMessage(requestMessage('0', method, messageParams));
  return new Call({ envelope, exchange, era }, { server, timeouts: { timeoutMs, maxMs: timeoutMs } });
}
