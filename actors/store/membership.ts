// Cluster interfaces: the membership of this node, the list of members, and exclusive leases. The PostgreSQL
// engine implements them, because the store's clock decides about expiry. A gateway with an embedded store
// has no cluster.

/** Values that a member publishes for all members. */
export type PublishedValues = Readonly<Record<string, unknown>>;

export interface Member {
  /** Epoch of the membership; a rejoin has a new epoch. */
  readonly epoch: number;
  readonly name: string;
  /** `host:port` of the listener for other nodes; empty without a listener. */
  readonly address: string;
  readonly about: PublishedValues;
}

export interface MembershipWatcher {
  /** Called when the membership expires, or shortly before. Work that depends on it must stop immediately. */
  onLost?(): void;
  /** Called when the node rejoins, with the new epoch. */
  onJoined?(epoch: number): void;
  /** Called whenever the member list was read; it includes this node. */
  onMembers?(members: readonly Member[]): void;
}

export interface ClusterMembership {
  readonly epoch: number;
  /**
   * True if the claims and leases of this node are certainly valid: by a monotonic clock, with a safety
   * margin. Cheap to read.
   */
  readonly isMember: boolean;
  /** Members at the last successful read of the database. */
  readonly members: readonly Member[];
  /** Returns a function that removes the watcher. */
  watch(watcher: MembershipWatcher): () => void;
  /** Publishes a value for all members with the next renewal. Callers use different names. */
  publish(name: string, value: unknown): void;
  /** Renews immediately, to publish values now. Does not reject if the database is unavailable. */
  publishNow(): Promise<void>;
}

/** Exclusive lease. It expires together with the membership of its acquisition. */
export interface NodeLease {
  readonly name: string;
  /** Increases with every acquisition. */
  readonly epoch: number;
  /** False if released or if the membership expired. Cheap to read. */
  readonly isHeld: boolean;
  /**
   * Releases the lease. Never rejects: a release that does not reach the database takes effect when the
   * membership expires.
   */
  release(): Promise<void>;
}

export interface LeaseHolder {
  readonly epoch: number;
  /** Membership epoch of the holder. */
  readonly node: number;
}

export interface NodeLeases {
  /** Returns undefined if any node, including this node, owns the lease, or if this node is no member. */
  acquire(name: string): Promise<NodeLease | undefined>;
  /** Returns undefined if no member owns the lease. */
  holder(name: string): Promise<LeaseHolder | undefined>;
}

export interface Cluster {
  /** Name of this node; `address` is where other nodes reach it. */
  readonly name: string;
  readonly address: string;
  readonly membership: ClusterMembership;
  readonly leases: NodeLeases;
}
