// How large a flow may be.

/** Of a flow, or of one loop in it. */
export const MAX_NODES = 100;
export const MAX_CONNECTIONS = 500;
/** Loops within each other. */
export const MAX_DEPTH = 3;
