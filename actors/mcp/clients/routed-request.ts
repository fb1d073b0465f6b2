// A client request before (ClientRequest) and after (RoutedRequest) the router has selected the server, with
// the data for the routers and for the conversion between protocol eras (eras/bridge.ts): legacy clients and
// servers use sessions, modern ones stateless requests (2026-07-28).

import type { Envelope } from '../jsonrpc/envelope.ts';
import type { Era } from '../jsonrpc/modern-meta.ts';
import type { Edit } from '../jsonrpc/span.ts';
import type { Trace } from '../links/link.ts';
import type { ManagedServer } from '../servers/managed-server.ts';
import type { PoolMember } from '../servers/pool/pool-member.ts';
import type { ResolvedTarget } from './aggregate/resolution.ts';
import type { ModernCaller } from './eras/modern-caller.ts';
import type { ClientExchange } from './exchange.ts';
import type { ClientSession } from './sessions/session.ts';

/** A request whose target server is not known yet. */
export interface ClientRequest {
  /** Undefined for sessionless requests: modern requests, and requests at /rpc. */
  readonly session: ClientSession | undefined;
  /** Client identity in a modern request; undefined for legacy requests. */
  readonly caller: ModernCaller | undefined;
  readonly envelope: Envelope;
  readonly exchange: ClientExchange;
  readonly trace: Trace | undefined;
  /** Authenticated principal in sessionless requests. */
  readonly principal?: string | undefined;
}

export interface RoutedRequest extends ClientRequest {
  readonly server: ManagedServer;
  /** Edits of the message so far; the sender adds further edits. */
  readonly edits?: readonly Edit[] | undefined;
  /**
   * Server, and name or uri at this server. Set at addresses of several servers only (/mcp, /mcp/@NAME),
   * where legacy clients have no access to tasks.
   */
  readonly mergedTarget?: ResolvedTarget | undefined;
  /** Connection to the process that runs the requested task. Requests about the task must use it. */
  readonly home?: PoolMember | undefined;
}

/** Returns the request for a server. Without object spread, which is slow in the runtime. */
export function routeTo(
  { session, caller, envelope, exchange, trace, principal }: ClientRequest,
  server: ManagedServer,
  edits?: readonly Edit[],
  mergedTarget?: ResolvedTarget,
): RoutedRequest {
  return { session, caller, envelope, exchange, trace, principal, server, edits, mergedTarget };
}

/** Returns the client's era in this request. */
export function clientEra({ caller }: ClientRequest): Era {
  return caller === undefined ? 'legacy' : 'modern';
}
