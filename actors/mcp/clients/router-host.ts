// The gateway as a host of the message router. The router's room is below the gateway's, so it knows only these members.

import type { GatewayConfig } from '../../../config/gateway-file/gateway-schema.ts';
import type { Log } from '../../base/errors/log.ts';
import type { Redactor } from '../../base/errors/redact.ts';
import type { CallOwner } from '../servers/calls/call-owner.ts';
import type { ManagedServer } from '../servers/managed-server.ts';
import type { ServerRegistry } from '../servers/server-registry.ts';
import type { HandedOutStates } from './eras/handed-out-states.ts';
import type { View } from './profiles/profile.ts';
import type { RoutingContext } from './routing/server-router.ts';
import type { Sessions } from './sessions/sessions.ts';

/** The view contains all servers. */
export interface RouterHost extends View, RoutingContext {
  readonly config: Pick<GatewayConfig, 'list_timeout_seconds' | 'log_level'>;
  readonly log: Log;
  readonly redactor: Redactor;
  readonly serverInfo: { readonly name: string; readonly version: string };
  readonly sessions: Sessions;
  readonly servers: Pick<ServerRegistry, 'all' | 'get'>;
  /** Undefined without node.address. */
  readonly states: HandedOutStates | undefined;
  /** Returns the server with this id. Throws UnknownServerError. */
  server(id: string): ManagedServer;
  /** Releases the resources of the servers for an ended client. */
  release(session: CallOwner & { readonly target: string | undefined }): void;
}
