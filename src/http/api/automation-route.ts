// What a route of the automation is: what it asks, and how it answers.

import type { RunningAutomation } from '../../../actors/automation/running-automation.ts';
import type { Redactor } from '../../../actors/base/errors/redact.ts';
import type { McpSide } from '../../../actors/mcp/mcp-side.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';
import type { Heartbeat } from '../mcp/heartbeat.ts';
import type { RecordView } from './record-view.ts';

export interface ApiHost extends Pick<RunningAutomation, 'operator' | 'runs' | 'approvals' | 'feed'> {
  readonly redactor: Redactor;
  /** Servers from the catalog and from agents. */
  readonly mcp: Pick<McpSide, 'servers' | 'agentServers'>;
  /** Keeps streams alive. */
  readonly heartbeat: Heartbeat;
  readonly isDraining: boolean;
}

export interface ApiRequest {
  readonly context: ExchangeContext;
  /** Name in the path. */
  readonly id: string;
  /** Parsed JSON; undefined for none. */
  readonly body: unknown;
  /** The query without `view`. */
  readonly query: string;
  /** View of the records in the answer. */
  readonly view: RecordView;
}

/** Returns the JSON body, or ANSWERED. */
export type Answering = (host: ApiHost, request: ApiRequest) => Promise<unknown>;

export interface AutomationRoute {
  readonly method: 'GET' | 'POST';
  /** Of a good answer. */
  readonly status: number | ((answer: unknown) => number);
  readonly answer: Answering;
}

export type ShapedRoute = readonly [shape: string, route: AutomationRoute];

export const get = (answer: Answering): AutomationRoute => ({ method: 'GET', status: 200, answer });
export const post = (answer: Answering): AutomationRoute => ({ method: 'POST', status: 200, answer });

/** The route has answered itself, as with a stream. */
export const ANSWERED = Symbol('answered');
