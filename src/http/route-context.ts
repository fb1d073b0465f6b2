// What the routes need to know of everything around them: the same for all requests. What a single request brings with it is
// its ExchangeContext.

import type { Gateway } from '../../actors/gateway/gateway.ts';
import type { AutomationFigures } from './api/automation-figures.ts';
import type { Heartbeat } from './mcp/heartbeat.ts';

export interface RouteContext {
  readonly gateway: Gateway;
  /** Keeps streams alive. */
  readonly heartbeat: Heartbeat;
  /** Where there are triggers. */
  readonly triggers: TriggersAtRoutes | undefined;
  /** Reads the configuration again and applies it, and gives what has changed; throws ConfigError. */
  reload(): Promise<object>;
}

export interface TriggersAtRoutes {
  readonly figures: AutomationFigures;
  /** The disk of the store is full: tools work, triggers do not. */
  readonly hasNoRoom: boolean;
}
