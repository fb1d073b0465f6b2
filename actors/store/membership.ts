// This gateway as one of several that share a store: its membership, the other members, and leases on what one of them alone may
// hold. What is here are the interfaces; the engine of the store fills them, since its clock decides. A gateway with a store of
// its own has no cluster.

/** What a member tells of itself beside its name and address. */
export type About = Readonly<Record<string, unknown>>;

export interface Member {
  /** Of its membership: another one each time it begins. */
  readonly epoch: number;
  readonly name: string;
  /** host:port of its listener for nodes; '' where it has none. */
  readonly address: string;
  readonly about: About;
}

export interface MembershipWatcher {
  /** The membership is over, or nearly: what this node holds by it has to have stopped when this returns, or at once. */
  onLost?(): void;
  /** It is a member once more, under another epoch. */
  onJoined?(epoch: number): void;
  /** The members were read anew, this one among them. */
  onMembers?(members: readonly Member[]): void;
}

export interface ClusterMembership {
  readonly epoch: number;
  /** Whether what this node holds is surely its own; by a clock that nobody can set, and with a margin. Costs nothing. */
  readonly isMember: boolean;
  /** As they were read last; while the database is away they stay. */
  readonly members: readonly Member[];
  /** Gives the way to end that. */
  watch(watcher: MembershipWatcher): () => void;
  /** What members read of this one from its next renewal on, by a name that is the part's own. */
  tell(name: string, value: unknown): void;
  /** Renews at once, so that what was told is known; does not reject while the database is away. */
  tellNow(): Promise<void>;
}

/** A lease on something that one node of the cluster may hold: valid as long as the membership it was taken in. */
export interface NodeLease {
  readonly name: string;
  /** Grows each time somebody takes it. */
  readonly epoch: number;
  /** Not released, and the membership has not ended. Costs nothing. */
  readonly isHeld: boolean;
  /** It is free at once for others. Does not reject: what cannot be told ends with the membership. */
  release(): Promise<void>;
}

export interface LeaseHolder {
  readonly epoch: number;
  /** Epoch of the membership by which it is held. */
  readonly node: number;
}

export interface NodeLeases {
  /** Undefined while another node holds it, or this one, or while this one is no member. */
  take(name: string): Promise<NodeLease | undefined>;
  /** Undefined where no member holds it. */
  holder(name: string): Promise<LeaseHolder | undefined>;
}

export interface Cluster {
  /** What this node is called, and where other nodes reach it. */
  readonly name: string;
  readonly address: string;
  readonly membership: ClusterMembership;
  readonly leases: NodeLeases;
}
