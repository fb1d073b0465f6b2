// Interface with which the MCP routes forward requests to other nodes of the cluster (forwards.ts implements
// it).

import type { Envelope } from '../../../actors/mcp/jsonrpc/envelope.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';

export interface ForwardRequest {
  readonly context: ExchangeContext;
  /** Message in the body; undefined for GET and DELETE. */
  readonly envelope: Envelope | undefined;
  readonly body: Buffer | undefined;
  /** Responds to the client that the session or call is unknown. */
  refuseUnknown(): void;
}

export interface RequestForwarder {
  /** Forwards a request to the node that owns the session. Returns false if no other node owns it. */
  forwardForSession(id: string, request: ForwardRequest): boolean;
  /** Forwards a retried call to the node that has suspended the call. Returns false for other messages. */
  forwardRetry(request: ForwardRequest & { readonly envelope: Envelope }): boolean;
}
