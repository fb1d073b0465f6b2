// A part of the program, such as the store or a listener. The gateway boots its parts in order and drains them in reverse
// (gateway/life.ts).

import type { ActorRefFrom } from 'xstate';
import type { gatewayMachine } from '../../../machines/gateway.ts';

/** Root of the actor tree. */
export type RootRef = ActorRefFrom<typeof gatewayMachine>;

export interface Part {
  readonly name: string;
  /** Starts the part. */
  boot(root: RootRef): Promise<void>;
  /** Ends the part within `graceMs`. */
  drain(graceMs: number): Promise<void>;
}
