// Judges why a connection to a platform failed, and for how long no other is tried. A pure decision (A7): chance comes
// as input.
//
// CF1  a pause grows with the failures in a row, is never 0, and never shorter than what the platform asked for.
// CF2  no pause is the last one: whatever failed is tried again for ever, a refusal less often.

/**
 * transient: nothing is wrong with the credential: a lost line, a server error, a limit. conflict: another holds what only one
 * may hold. refused: the platform does not take the credential.
 */
export type FailureKind = 'transient' | 'conflict' | 'refused';

export interface ConnectionFailure {
  readonly kind: FailureKind;
  /** In the platform's words where it said any. */
  readonly reason: string;
  /** What the platform asked to wait at least. */
  readonly retryAfterMs?: number | undefined;
}

const pauses: Readonly<Record<FailureKind, { readonly minMs: number; readonly maxMs: number }>> = {
  transient: { minMs: 250, maxMs: 30_000 },
  conflict: { minMs: 1_000, maxMs: 30_000 },
  refused: { minMs: 2_000, maxMs: 120_000 },
};

/** The share that chance may add: connections that were lost together should not come back together. */
const JITTER = 0.25;
/** What a platform asks for beyond this is taken for a mistake of its clock. */
const LONGEST_MS = 3_600_000;

/** The platform's own words have to do with a person's configuration, and become the failure of the triggers. */
export function isVisible({ kind }: ConnectionFailure): boolean {
  return kind !== 'transient';
}

/** The pause after a failure, the `count`th in a row, counted from 1; `random` lies in 0…1. */
export function connectionPause(failure: ConnectionFailure, count: number, random: number): number {
  const { minMs, maxMs } = pauses[failure.kind];
  const grown = Math.min(maxMs, minMs * 2 ** Math.min(32, Math.max(0, count - 1)));
  const asked = Math.min(LONGEST_MS, Math.max(0, failure.retryAfterMs ?? 0));
  return Math.round(Math.max(grown, asked) * (1 + JITTER * random));
}
