// A running part of the program, such as the store or a listener. Parts start in order and are drained in reverse
// (gateway/life.ts). The constructor of a part receives all its services.

import type { ActorRefFrom } from 'xstate';
import type { gatewayMachine } from '../../../machines/gateway.ts';

/** Root of the actor tree. */
export type RootRef = ActorRefFrom<typeof gatewayMachine>;

export interface Part {
  /** Called when every part runs. */
  onServing?(): void;
  /** Called when a shutdown is requested, before the drain. */
  onStopping?(): void;
  /** Ends the part within `graceMs`. */
  drain(graceMs: number): Promise<void>;
  /** Ends the part at once, without a grace period. */
  kill?(): void;
}
