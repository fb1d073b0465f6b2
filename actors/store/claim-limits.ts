// How much one call of either engine gives out, and brings about.

/** Bodies and snapshots that one claim, or one commit, gives out together; one may go beyond. */
export const CLAIMED_BYTES = 16 * 1024 * 1024;
/** Timers that become events in one claim. */
export const TIMERS_AT_ONCE = 500;
