// Size limits of flows.

/** Per flow, and per loop in it. */
export const MAX_NODES = 100;
export const MAX_CONNECTIONS = 500;
/** Nested loops. */
export const MAX_DEPTH = 3;
