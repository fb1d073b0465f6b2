// A part of the gateway: a component with a start and a drain, for example the store or a listener. Parts
// start in order and drain in reverse order (gateway/life.ts). A part receives the earlier parts that it
// uses.

import type { ActorRefFrom } from 'xstate';
import type { gatewayMachine } from '../../../machines/gateway.ts';

/** Root of the actor tree. */
export type RootRef = ActorRefFrom<typeof gatewayMachine>;

export interface Part {
  /** Called when all parts run. */
  onServing?(): void;
  /** Called when a shutdown is requested, before the drain. */
  onStopping?(): void;
  /** Stops the part within `graceMs`. */
  drain(graceMs: number): Promise<void>;
  /** Stops the part immediately. */
  kill?(): void;
}
