// Services that the routes use for all requests. Data about a single request is in ExchangeContext.

import type { GatewayRuntime } from '../../actors/gateway/gateway.ts';
import type { AutomationFigures } from './api/automation-figures.ts';
import type { HeaderList, HttpRequest } from './listener/seam.ts';
import type { Heartbeat } from './mcp/heartbeat.ts';
import type { RequestForwarder } from './nodes/request-forwarder.ts';

/** State of the automation, for `GET /stats`. */
interface AutomationState {
  readonly figures: AutomationFigures;
}

/** Parts of the gateway that are served over HTTP. */
export type ServedGateway = Pick<
  GatewayRuntime,
  'config' | 'log' | 'alarms' | 'redactor' | 'version' | 'life' | 'mcp' | 'node'
>;

export interface RouteContext extends ServedGateway {
  /** Keeps streams alive. */
  readonly heartbeat: Heartbeat;
  /** Undefined if the gateway has no triggers. */
  readonly triggers: AutomationState | undefined;
  /** Forwards requests to other nodes; undefined if the gateway is not in a cluster. */
  readonly forwarder: RequestForwarder | undefined;
  /** Returns the headers that prove knowledge of the operator token (operator-proof.ts). */
  proofFor(request: HttpRequest): HeaderList;
  /** Reloads the configuration and returns the changes. Rejects with ConfigError. */
  reload(): Promise<object>;
}
