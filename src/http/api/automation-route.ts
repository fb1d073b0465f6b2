// What a route of the automation is: what it asks, and how it answers.

import type { RunningAutomation } from '../../../actors/automation/running-automation.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';
import type { Heartbeat } from '../mcp/heartbeat.ts';

export interface ApiHost extends Pick<RunningAutomation, 'operator' | 'runs' | 'approvals'> {
  /** Keeps streams alive. */
  readonly heartbeat: Heartbeat;
  readonly isDraining: boolean;
}

/** `id` is the name in the path, `body` what came with it, JSON or nothing. Gives what is answered as JSON, or ANSWERED. */
export type Answering = (
  host: ApiHost,
  context: ExchangeContext,
  id: string,
  body: unknown,
) => Promise<unknown>;

export interface AutomationRoute {
  readonly method: 'GET' | 'POST';
  /** Of a good answer. */
  readonly status: number | ((answer: unknown) => number);
  readonly answer: Answering;
}

/** The route has answered itself, as with a stream. */
export const ANSWERED = Symbol('answered');
