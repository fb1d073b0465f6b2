// Types and helpers for the routes of the automation (automation-routes.ts).

import type { RunningAutomation } from '../../../actors/automation/running-automation.ts';
import type { Redactor } from '../../../actors/base/errors/redact.ts';
import type { Role } from '../../../actors/identity/roles.ts';
import type { McpSide } from '../../../actors/mcp/mcp-side.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';
import type { Heartbeat } from '../mcp/heartbeat.ts';
import type { RecordView } from './record-view.ts';

/** Services that the routes use. */
export interface ApiHost extends Pick<RunningAutomation, 'operator' | 'runs' | 'approvals' | 'feed'> {
  readonly redactor: Redactor;
  /** Servers from the catalog and from agents. */
  readonly mcp: Pick<McpSide, 'servers' | 'agentServers'>;
  /** Keeps streams alive. */
  readonly heartbeat: Heartbeat;
  readonly isDraining: boolean;
}

export interface AutomationRequest {
  readonly context: ExchangeContext;
  /** Name in the path. */
  readonly id: string;
  /** Parsed JSON; undefined without body. */
  readonly body: unknown;
  /** The query without `view`. */
  readonly query: string;
  /** View of the records in the response. */
  readonly view: RecordView;
}

/** Returns the JSON body of the response, or RESPONDED. */
export type RouteHandler = (host: ApiHost, request: AutomationRequest) => Promise<unknown>;

export interface AutomationRoute {
  readonly method: 'GET' | 'POST';
  /** Minimum role of an access key. Default: `viewer` for GET, `operator` for POST. */
  readonly role?: Role;
  /** Status for success. */
  readonly status: number | ((body: unknown) => number);
  readonly handle: RouteHandler;
  /** True if the response contains JSON escapes instead of hidden characters, for approvers. */
  readonly escapesHidden?: boolean;
}

/** Route with its path's shape, such as `/runs/*`. */
export type ShapedRoute = readonly [shape: string, route: AutomationRoute];

export const getRoute = (handle: RouteHandler): AutomationRoute => ({
  method: 'GET',
  status: 200,
  handle,
});
export const postRoute = (handle: RouteHandler): AutomationRoute => ({
  method: 'POST',
  status: 200,
  handle,
});

/** Returned by a handler that already sent the response, for example a stream. */
export const RESPONDED = Symbol('responded');
