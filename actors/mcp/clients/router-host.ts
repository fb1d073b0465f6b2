// The parts of the gateway that the message router (message-router.ts) and the routers below it use. An
// interface, because this folder must not import the gateway.

import type { GatewayConfig } from '../../../config/gateway-file/gateway-schema.ts';
import type { Audit } from '../../audit/audit-part.ts';
import type { Log } from '../../base/errors/log.ts';
import type { Redactor } from '../../base/errors/redact.ts';
import type { RecentCalls } from '../../history/recent-calls.ts';
import type { CallOwner } from '../servers/calls/owner.ts';
import type { ManagedServer } from '../servers/managed-server.ts';
import type { ServerRegistry } from '../servers/server-registry.ts';
import type { RequestStates } from './eras/request-states.ts';
import type { MergedView } from './profiles/profile.ts';
import type { RoutingContext } from './routing/server-router.ts';
import type { SessionRestorer } from './sessions/session-restorer.ts';
import type { Sessions } from './sessions/sessions.ts';

/** The gateway for its routers. As a view, it contains all servers. */
export interface RouterHost extends MergedView, RoutingContext {
  readonly config: Pick<GatewayConfig, 'list_timeout_seconds' | 'log_level'>;
  readonly log: Log;
  readonly redactor: Redactor;
  readonly serverInfo: { readonly name: string; readonly version: string };
  readonly sessions: Sessions;
  readonly restorer: Pick<SessionRestorer, 'save' | 'forget'>;
  /** Receives each completed request; undefined if the history is disabled. */
  readonly recentCalls: Pick<RecentCalls, 'record'> | undefined;
  /** Undefined without an audit. */
  readonly audit: Pick<Audit, 'record' | 'refusal' | 'hasArguments'> | undefined;
  readonly servers: Pick<ServerRegistry, 'all' | 'get'>;
  /** Undefined if `node.address` is not configured, so the gateway is in no cluster. */
  readonly states: RequestStates | undefined;
  /** Returns a server by id. Throws UnknownServerError. */
  server(id: string): ManagedServer;
  /** Releases the servers' resources for a closed client. */
  release(session: CallOwner & { readonly target: string | undefined }): void;
}
