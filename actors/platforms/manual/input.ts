// What somebody who runs a trigger by hand may say, and what is known of the run.

import type { Principal } from '../../identity/principal.ts';

export interface ManualInput {
  /** Without a leading slash, perhaps with its parameters behind it; '' for none. */
  readonly command: string;
  /** Parameters by their names. */
  readonly input: Readonly<Record<string, string>>;
  readonly text: string;
  /** The caller's word that somebody was asked. */
  readonly isConfirmed: boolean;
  readonly user?: string | undefined;
}

export interface ManualOrigin {
  /** Unique among the runs of all triggers. */
  readonly id: string;
  /** W3C traceparent. */
  readonly trace: string;
  /** The conversation that it is of, beside that of its trigger; of characters that a key may have. */
  readonly session?: string | undefined;
  /** Who runs it. */
  readonly principal: Principal;
}
