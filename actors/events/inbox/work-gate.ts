// Whether a node may take up work of a kind now. Of most kinds it always may; what keeps in memory how much has been done lately, such
// as the pace of messages, is done by one node of a cluster at a time (automation/works/sole-node.ts).

export interface WorkGate {
  /** Costs nothing. */
  readonly isOpen: boolean;
  /** Nothing of it will be taken up here any more: another node may. May be called again. */
  close(): void;
}

/** `onOpen` is called each time the gate opens. */
export type MakeGate = (onOpen: () => void) => WorkGate;
