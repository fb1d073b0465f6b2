// One request of a client on its way to a server, with everything the routers and crossings have to know of it.

import type { Envelope } from '../jsonrpc/envelope.ts';
import type { Era } from '../jsonrpc/modern-meta.ts';
import type { Edit } from '../jsonrpc/span.ts';
import type { ManagedServer } from '../server/managed-server.ts';
import type { Trace } from '../upstream/link.ts';
import type { ClientExchange } from './client-exchange.ts';
import type { ModernAsker } from './modern-asker.ts';
import type { ClientSession } from './session.ts';

/** A request, before it is known which server it is for. */
export interface ClientRequest {
  /** Undefined for requests without one: all of the modern era, and those at /rpc. */
  readonly session: ClientSession | undefined;
  /** Who asks, as a modern request says itself; undefined for legacy ones. */
  readonly asker: ModernAsker | undefined;
  readonly envelope: Envelope;
  readonly exchange: ClientExchange;
  readonly trace: Trace | undefined;
}

export interface Route extends ClientRequest {
  readonly server: ManagedServer;
  /** What must change in the message for that server, in order. */
  readonly edits?: readonly Edit[] | undefined;
}

/** A request that is for that server. No spread: each would be laid out in memory anew (see `replacing`). */
export function routeTo(
  { session, asker, envelope, exchange, trace }: ClientRequest,
  server: ManagedServer,
  edits?: readonly Edit[],
): Route {
  return { session, asker, envelope, exchange, trace, server, edits };
}

/** The era of the client, in this request. */
export function clientEra({ asker }: ClientRequest): Era {
  return asker === undefined ? 'legacy' : 'modern';
}
