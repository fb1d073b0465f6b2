// Input and origin for manual runs.

import type { Principal } from '../../identity/principal.ts';

export interface ManualInput {
  /** Command with optional parameters, without a leading slash; may be empty. */
  readonly command: string;
  /** Parameters by name. */
  readonly input: Readonly<Record<string, string>>;
  readonly text: string;
  /** True if the caller states that a person confirmed the run. */
  readonly isConfirmed: boolean;
  readonly user?: string | undefined;
}

export interface ManualOrigin {
  /** Unique among the runs of all triggers. */
  readonly id: string;
  /** W3C traceparent. */
  readonly trace: string;
  /** Name of a separate conversation of the trigger. Contains only characters that are valid in a key. */
  readonly session?: string | undefined;
  /** Caller of the run. */
  readonly principal: Principal;
}
