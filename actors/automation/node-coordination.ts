// Coordinates nodes that share a store: selects the node that connects and sends, cancels remote work, and
// cleans up when a node is lost. Loaded only for shared stores. Events that were queued for a slot of a lost
// node are released, so that any node can claim them (inbox/work-slots.ts).

import type { Log } from '../base/errors/log.ts';
import type { MakeGate } from '../events/inbox/work-gate.ts';
import { isSlotGroup } from '../events/inbox/work-slots.ts';
import { ClusterLease } from '../platforms/connections/cluster-lease.ts';
import type { Cluster, Member } from '../store/membership.ts';
import type { Store } from '../store/store.ts';
import { Cancels } from './operator/cancels.ts';
import { PLATFORMS, SenderLeader } from './works/sender-leader.ts';

export interface NodeCoordinationOptions {
  readonly cluster: Cluster;
  readonly store: Store;
  readonly log: Log;
  /** Aborts the local attempt at an event; returns false if none is running. */
  cancel(id: string, note: string): boolean;
  /** Returns the platforms that local triggers send to. */
  platforms(): ReadonlySet<string>;
}

export class NodeCoordination {
  /** Account leases: only the node with the account's lease connects to its platform. */
  readonly lease: ClusterLease;
  readonly cancels: Cancels;
  readonly #options: NodeCoordinationOptions;
  readonly #gates: SenderLeader[] = [];
  readonly #stopWatching: () => void;
  #members: readonly Member[];

  constructor(options: NodeCoordinationOptions) {
    const { cluster, store, log, cancel } = options;
    this.#options = options;
    this.lease = new ClusterLease(cluster);
    this.cancels = new Cancels({ store, log, cancel });
    this.cancels.begin();
    const { membership } = cluster;
    this.#members = membership.members;
    this.#stopWatching = membership.watch({ onMembers: (members) => void this.#onMembers(members) });
  }

  /** Creates the gate for messages to a platform, which is open on one node of the cluster. */
  readonly gateOf =
    (platform: string): MakeGate =>
    (onOpen) => {
      const { cluster, platforms } = this.#options;
      const gate = new SenderLeader({ cluster, platform, isUsed: () => platforms().has(platform), onOpen });
      this.#gates.push(gate);
      return gate;
    };

  /** Publishes the platforms of changed triggers. */
  publishChange(): void {
    this.#options.cluster.membership.publish(PLATFORMS, [...this.#options.platforms()]);
    for (const gate of this.#gates) gate.onTriggersChanged();
  }

  close(): void {
    this.cancels.close();
    this.#stopWatching();
  }

  /** Releases queued events when members are lost. Never rejects. */
  async #onMembers(members: readonly Member[]): Promise<void> {
    const before = this.#members;
    this.#members = members;
    if (before.every(({ epoch }) => members.some((member) => member.epoch === epoch))) return;
    const { store, log } = this.#options;
    try {
      // Events wait in the store under the name of a holder: a slot group or a paused trigger. Events that
      // wait for a slot of a living node are released too, and queue there again.
      for (const name of await store.holders()) if (isSlotGroup(name)) await store.release(name);
    } catch (error) {
      // Retried with the next list of members.
      const reason = (error as Error).message;
      log.warn({ reason }, 'could not release work queued on a lost node');
      this.#members = before;
    }
  }
}
