// Work queue gate: decides whether this node may start work of that kind. Most kinds have no gate. Work with
// counters in memory, such as message rate limits, must run on one node of the cluster only.

export interface WorkGate {
  /** Cheap to read. */
  readonly isOpen: boolean;
  /** Stops new work on this node, so that another node may take over. Idempotent. */
  close(): void;
}

/** `onOpen` is called each time the gate opens. */
export type MakeGate = (onOpen: () => void) => WorkGate;
