// Interface with which the MCP routes forward requests to other nodes of the cluster (forwards.ts implements
// it).

import type { Envelope } from '../../../actors/mcp/jsonrpc/envelope.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';

export interface ForwardRequest {
  readonly context: ExchangeContext;
  /** Message in the body; undefined for GET and DELETE. */
  readonly envelope: Envelope | undefined;
  readonly body: Buffer | undefined;
  /** Called if the node does not have the session or call. `endedInstance`: the node, if it has exited. */
  refuseUnknown(endedInstance?: string): void;
}

export interface RequestForwarder {
  /** Forwards a request to the node that owns the session. Returns false if no other node owns it. */
  forwardForSession(id: string, request: ForwardRequest): boolean;
  /** Forwards a request to the node `instance`. Returns false if the node is unknown or stopping. */
  forwardToOwner(instance: string, request: ForwardRequest): boolean;
  /** Forwards a retried call to the node that has suspended the call. Returns false for other messages. */
  forwardRetry(request: ForwardRequest & { readonly envelope: Envelope }): boolean;
}
