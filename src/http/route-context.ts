// Services that the routes use for all requests. Data about a single request is in ExchangeContext.

import type { GatewayRuntime } from '../../actors/gateway/gateway.ts';
import type { AccessKeyDoor } from './access-key-door.ts';
import type { AutomationFigures } from './api/automation-figures.ts';
import type { SlicedJson } from './api/sliced-json.ts';
import type { HeaderList, HttpRequest } from './listener/seam.ts';
import type { Heartbeat } from './mcp/heartbeat.ts';
import type { RequestForwarder } from './nodes/request-forwarder.ts';
import type { RequestAudit } from './request-audit.ts';

/** Figures of the triggers and agents, for `GET /stats`. */
interface AutomationStatistics {
  readonly figures: AutomationFigures;
}

/** Parts of the gateway that are served over HTTP. */
export type ServedGateway = Pick<
  GatewayRuntime,
  'config' | 'log' | 'alarms' | 'redactor' | 'version' | 'life' | 'mcp' | 'history' | 'audit' | 'node'
>;

export interface RouteContext extends ServedGateway {
  /** Sends keepalive comments on idle streams. */
  readonly heartbeat: Heartbeat;
  /** Writes large responses. */
  readonly json: SlicedJson;
  readonly accessKeys: AccessKeyDoor;
  /** Undefined without an audit. */
  readonly requestAudit: RequestAudit | undefined;
  /** Figures for `GET /stats`; undefined if the gateway has no triggers. */
  readonly triggers: AutomationStatistics | undefined;
  /** Forwards requests to other nodes; undefined if the gateway is not in a cluster. */
  readonly forwarder: RequestForwarder | undefined;
  /** Returns the headers that prove knowledge of the operator token (operator-proof.ts). */
  proofFor(request: HttpRequest): HeaderList;
  /** Reloads the configuration and returns the changes. Rejects with ConfigError. */
  reload(): Promise<object>;
}
