// What an automation has beside the rest where several nodes share its store: who of them connects and sends, how one cancels what another
// runs, and what is done when one of them is gone. Loaded only there.
//
// SEV1  what waits for a place at a node that is gone (inbox/work-places.ts) is let go, and judged by whoever claims it.

import type { Log } from '../base/errors/log.ts';
import type { MakeGate } from '../events/inbox/work-gate.ts';
import { isGroupName } from '../events/inbox/work-places.ts';
import { ClusterLease } from '../platforms/connections/cluster-lease.ts';
import type { Cluster, Member } from '../store/membership.ts';
import type { Store } from '../store/store.ts';
import { Cancels } from './operator/cancels.ts';
import { PLATFORMS, SoleNode } from './works/sole-node.ts';

export interface SeveralNodesOptions {
  readonly cluster: Cluster;
  readonly store: Store;
  readonly log: Log;
  /** As in Cancels. */
  cancel(id: string, note: string): boolean;
  /** Words of the platforms that triggers here send to. */
  platforms(): ReadonlySet<string>;
}

export class SeveralNodes {
  readonly lease: ClusterLease;
  readonly cancels: Cancels;
  readonly #options: SeveralNodesOptions;
  readonly #gates: SoleNode[] = [];
  readonly #stopWatching: () => void;
  #members: readonly Member[];

  constructor(options: SeveralNodesOptions) {
    const { cluster, store, log, cancel } = options;
    this.#options = options;
    this.lease = new ClusterLease(cluster);
    this.cancels = new Cancels({ store, log, cancel });
    this.cancels.begin();
    const { membership } = cluster;
    this.#members = membership.members;
    this.#stopWatching = membership.watch({ onMembers: (members) => void this.#onMembers(members) });
  }

  /** Gate of the messages to a platform. */
  readonly gateOf =
    (platform: string): MakeGate =>
    (onOpen) => {
      const { cluster, platforms } = this.#options;
      const gate = new SoleNode({ cluster, platform, isUsed: () => platforms().has(platform), onOpen });
      this.#gates.push(gate);
      return gate;
    };

  /** Triggers are others now. */
  changed(): void {
    this.#options.cluster.membership.tell(PLATFORMS, [...this.#options.platforms()]);
    for (const gate of this.#gates) gate.changed();
  }

  close(): void {
    this.cancels.close();
    this.#stopWatching();
  }

  /** Never rejects. */
  async #onMembers(members: readonly Member[]): Promise<void> {
    const before = this.#members;
    this.#members = members;
    if (before.every(({ epoch }) => members.some((member) => member.epoch === epoch))) return;
    const { store, log } = this.#options;
    try {
      for (const name of await store.holders()) if (isGroupName(name)) await store.release(name);
    } catch (error) {
      // It is tried again when the members are read next.
      const reason = (error as Error).message;
      log.warn({ reason }, 'what waited for a place at another node could not be let go');
      this.#members = before;
    }
  }
}
