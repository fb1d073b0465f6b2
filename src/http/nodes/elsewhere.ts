// What the routes know of other nodes: that one of them may have what is asked for. Without a cluster there is nothing of the kind.

import type { Envelope } from '../../../actors/mcp/jsonrpc/envelope.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';

export interface Asked {
  readonly context: ExchangeContext;
  /** Undefined without a body. */
  readonly envelope: Envelope | undefined;
  readonly body: Buffer | undefined;
  /** Answers that nobody has it any more. */
  gone(): void;
}

export interface Elsewhere {
  /** Takes a request for a session of another node; false where it is of none. */
  takeForSession(id: string, asked: Asked): boolean;
  /** Takes a retry whose state another node has handed out; false for any other message. */
  takeRetry(asked: Asked & { readonly envelope: Envelope }): boolean;
}
