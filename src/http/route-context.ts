// What the routes need of the front, the same for all requests. What belongs to a single request is its ExchangeContext.

import type { Gateway } from '../../actors/gateway/gateway.ts';
import type { HeaderList, HttpRequest } from './listener/seam.ts';
import type { Heartbeat } from './mcp/heartbeat.ts';
import type { Elsewhere } from './nodes/elsewhere.ts';
import type { TriggersFront } from './triggers-front.ts';

export interface RouteContext {
  readonly gateway: Gateway;
  /** Keeps streams alive. */
  readonly heartbeat: Heartbeat;
  /** Where there are triggers. */
  readonly triggers: Pick<TriggersFront, 'figures' | 'hasNoRoom'> | undefined;
  /** Where other nodes can be reached, which may have what is asked for. */
  readonly nodes: Elsewhere | undefined;
  /** Returns the headers that prove knowledge of the operator token (operator-proof.ts). */
  proofFor(request: HttpRequest): HeaderList;
  /** Reads the configuration again and applies it, and gives what has changed; throws ConfigError. */
  reload(): Promise<object>;
}
