// Requests to a trigger's path that proved nothing: how many, and the last of them. A counter and one record, so that a flood of
// forgeries costs no more than to be refused. Nothing of what was sent is kept.

/** `missing`: what has not even the form of a proof, or is too old for one; no body was read. The others as in principal.ts. */
export type ProofFault = 'missing' | 'wrong' | 'forbidden' | 'unavailable';

export interface RefusedProof {
  readonly reason: ProofFault;
  /** What whoever sent it was told: no secret, and nothing of what was sent. */
  readonly text: string;
}

export interface RefusedProofs extends RefusedProof {
  /** Since the start. */
  readonly count: number;
  /** The last, epoch ms. */
  readonly at: number;
}

const MAX_TEXT = 300;

export function withRefused(
  before: RefusedProofs | undefined,
  { reason, text }: RefusedProof,
  at = Date.now(),
): RefusedProofs {
  return { reason, text: text.slice(0, MAX_TEXT).toWellFormed(), count: (before?.count ?? 0) + 1, at };
}
