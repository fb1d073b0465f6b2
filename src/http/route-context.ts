// What the routes need of the front, the same for all requests. What belongs to a single request is its ExchangeContext.

import type { Gateway } from '../../actors/gateway/gateway.ts';
import type { AutomationFigures } from './api/automation-figures.ts';
import type { HeaderList, HttpRequest } from './listener/seam.ts';
import type { Heartbeat } from './mcp/heartbeat.ts';
import type { Elsewhere } from './nodes/elsewhere.ts';

/** State of the automation in GET /health and GET /stats. */
interface TriggersState {
  readonly figures: AutomationFigures;
  /** True if the store's disk is full: tools work, triggers do not. */
  readonly hasNoRoom: boolean;
}

/** Parts of the gateway that are served over HTTP. */
export type ServedGateway = Pick<
  Gateway,
  'config' | 'log' | 'redactor' | 'version' | 'life' | 'mcp' | 'node'
>;

export interface RouteContext extends ServedGateway {
  /** Keeps streams alive. */
  readonly heartbeat: Heartbeat;
  /** State of the automation; undefined without triggers. */
  readonly triggers: TriggersState | undefined;
  /** Where other nodes can be reached, which may have what is asked for. */
  readonly nodes: Elsewhere | undefined;
  /** Returns the headers that prove knowledge of the operator token (operator-proof.ts). */
  proofFor(request: HttpRequest): HeaderList;
  /** Reads the configuration again and applies it, and gives what has changed; throws ConfigError. */
  reload(): Promise<object>;
}
