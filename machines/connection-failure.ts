// Failure kinds of platform connections, and the pause before the next attempt. A pure function: randomness
// is an input. The pause grows with consecutive failures, is positive, and never shorter than requested by
// the platform. The number of attempts is unlimited; rejections are retried less often.

/**
 * transient: not related to the credential (lost connection, server error, rate limit). conflict: another
 * client holds an exclusive connection. refused: the platform rejects the credential.
 */
export type FailureKind = 'transient' | 'conflict' | 'refused';

export interface ConnectionFailure {
  readonly kind: FailureKind;
  /** The platform's message, if there is one. */
  readonly reason: string;
  /** Minimum pause requested by the platform. */
  readonly retryAfterMs?: number | undefined;
}

const pauses: Readonly<Record<FailureKind, { readonly minMs: number; readonly maxMs: number }>> = {
  transient: { minMs: 250, maxMs: 30_000 },
  conflict: { minMs: 1_000, maxMs: 30_000 },
  refused: { minMs: 2_000, maxMs: 120_000 },
};

/** Maximum random increase, so that connections lost together do not reconnect together. */
const JITTER = 0.25;
/** Longer requested pauses count as a clock error of the platform. */
const MAX_REQUESTED_MS = 3_600_000;

/**
 * Returns true if the triggers of the connection show the failure, because only the operator can correct its
 * cause.
 */
export function isVisible({ kind }: ConnectionFailure): boolean {
  return kind !== 'transient';
}

/** Returns the pause after the `count`th consecutive failure (from 1), in milliseconds; `random`: 0…1. */
export function connectionPause(failure: ConnectionFailure, count: number, random: number): number {
  const { minMs, maxMs } = pauses[failure.kind];
  const backoffMs = Math.min(maxMs, minMs * 2 ** Math.min(32, Math.max(0, count - 1)));
  const requestedMs = Math.min(MAX_REQUESTED_MS, Math.max(0, failure.retryAfterMs ?? 0));
  return Math.round(Math.max(backoffMs, requestedMs) * (1 + JITTER * random));
}
