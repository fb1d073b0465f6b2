// Limits per call of `claim` and `commit`, for both engines.

/** Maximum bytes of bodies and snapshots that a claim or commit returns. The last body may exceed it. */
export const MAX_CLAIM_BYTES = 16 * 1024 * 1024;
/** Maximum number of due timers that a claim appends as events. */
export const MAX_CLAIM_TIMERS = 500;
