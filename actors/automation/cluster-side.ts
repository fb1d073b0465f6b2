// Cluster side of the automation, loaded only if several nodes share the store: leases, cancels of remote
// work, pauses set by other nodes, and cluster-wide counters.

import type { AgentCounters } from '../agents/runs/agent-counters.ts';
import type { Cluster } from '../store/membership.ts';
import { NodeCoordination, type NodeCoordinationOptions } from './node-coordination.ts';
import { ClusterTallies } from './tallies/cluster-tallies.ts';
import type { TriggerCounters } from './triggers/counters.ts';
import { PauseFollower, type PauseFollowerOptions } from './triggers/pause-follower.ts';

export interface ClusterSideOptions
  extends Omit<NodeCoordinationOptions, 'cluster'>,
    Pick<PauseFollowerOptions, 'pauses' | 'mark'> {
  /** Instance id of this process in the cluster; undefined if counters are not shared. */
  readonly instance: string | undefined;
  readonly counters: { readonly triggers: TriggerCounters; readonly targets: AgentCounters };
  redact(text: string): string;
}

export class ClusterSide {
  readonly nodes: NodeCoordination;
  readonly #follower: PauseFollower;
  /** Undefined if counters are not shared. */
  readonly tallies: ClusterTallies | undefined;

  constructor(cluster: Cluster, options: ClusterSideOptions) {
    const { store, log, pauses, mark, instance, counters, redact } = options;
    const { membership } = cluster;
    this.nodes = new NodeCoordination({ ...options, cluster });
    this.#follower = new PauseFollower(membership, { store, log, pauses, mark });
    const { triggers, targets } = counters;
    if (instance !== undefined)
      this.tallies = new ClusterTallies({
        membership,
        store,
        instance,
        redact,
        own: () => ({ triggers: triggers.own, targets: targets.own }),
        revision: () => triggers.revision + targets.revision,
      });
  }

  close(): void {
    this.#follower.end();
    this.nodes.close();
  }

  /** Stores the final counts. */
  async end(): Promise<void> {
    await this.tallies?.end();
  }
}
