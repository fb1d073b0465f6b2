// Size limits of flows (graphs of nodes that answer an event).

/** Maximum number of nodes in a flow, and in each of its loops. */
export const MAX_NODES = 100;
/** Maximum number of connections in a flow, and in each of its loops. */
export const MAX_CONNECTIONS = 500;
/** Maximum depth of nested loops. */
export const MAX_DEPTH = 3;
