// One request of a client with the server that it is for, and everything that routers and the era bridge have to know of
// it.

import type { Envelope } from '../jsonrpc/envelope.ts';
import type { Era } from '../jsonrpc/modern-meta.ts';
import type { Edit } from '../jsonrpc/span.ts';
import type { Trace } from '../links/link.ts';
import type { ManagedServer } from '../servers/managed-server.ts';
import type { PoolMember } from '../servers/pool/pool-member.ts';
import type { Target } from './aggregate/resolution.ts';
import type { ClientExchange } from './client-exchange.ts';
import type { ModernCaller } from './eras/modern-caller.ts';
import type { ClientSession } from './sessions/session.ts';

/** A request, before it is known which server it is for. */
export interface ClientRequest {
  /** Undefined for requests without one: all of the modern era, and those at /rpc. */
  readonly session: ClientSession | undefined;
  /** Who asks, as a modern request says itself; undefined for legacy ones. */
  readonly caller: ModernCaller | undefined;
  readonly envelope: Envelope;
  readonly exchange: ClientExchange;
  readonly trace: Trace | undefined;
  /** The proven principal of a sessionless request. */
  readonly principal?: string | undefined;
}

export interface RoutedRequest extends ClientRequest {
  readonly server: ManagedServer;
  /** Replacements of values in the message. The sender adds the remaining changes. */
  readonly edits?: readonly Edit[] | undefined;
  /** Target of the name or uri at a merged address, which does not support tasks. */
  readonly merged?: Target | undefined;
  /** Connection with the task of the request. */
  readonly home?: PoolMember | undefined;
}

/** A request that is for that server. No spread: each would be laid out in memory anew (see `replacing`). */
export function routeTo(
  { session, caller, envelope, exchange, trace, principal }: ClientRequest,
  server: ManagedServer,
  edits?: readonly Edit[],
  merged?: Target,
): RoutedRequest {
  return { session, caller, envelope, exchange, trace, principal, server, edits, merged };
}

/** The era of the client, in this request. */
export function clientEra({ caller }: ClientRequest): Era {
  return caller === undefined ? 'legacy' : 'modern';
}
