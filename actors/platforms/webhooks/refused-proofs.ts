// Counts requests to a trigger's path that failed verification. Only the count and the last reason are
// stored, never request content, so that a flood of forged requests stays cheap.

/**
 * `missing`: the proof is absent, malformed or expired, and the request was refused before the body was read.
 * Other values: see `Refusal.kind` in principal.ts.
 */
export type ProofFault = 'missing' | 'wrong' | 'forbidden' | 'unavailable';

export interface RefusedProof {
  readonly reason: ProofFault;
  /** Text of the response. Contains neither secrets nor request content. */
  readonly text: string;
}

export interface RefusedProofs extends RefusedProof {
  /** Since the start. */
  readonly count: number;
  /** Last request, epoch ms. */
  readonly at: number;
}

const MAX_TEXT = 300;

export function countRefused(
  before: RefusedProofs | undefined,
  { reason, text }: RefusedProof,
  at = Date.now(),
): RefusedProofs {
  return { reason, text: text.slice(0, MAX_TEXT).toWellFormed(), count: (before?.count ?? 0) + 1, at };
}
