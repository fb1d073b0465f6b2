// The parts of an automation that only a shared store needs: leases and remote cancels, pauses of other nodes, common counters.
// Loaded only there.

import type { AgentCounters } from '../agents/runs/agent-counters.ts';
import type { Cluster } from '../store/membership.ts';
import { SeveralNodes, type SeveralNodesOptions } from './several-nodes.ts';
import { ClusterTallies } from './tallies/cluster-tallies.ts';
import { PauseFollower, type PauseFollowerOptions } from './triggers/pause-follower.ts';
import type { TriggerCounters } from './triggers/trigger-counters.ts';

export interface ClusterSideOptions
  extends Omit<SeveralNodesOptions, 'cluster'>,
    Pick<PauseFollowerOptions, 'pauses' | 'mark'> {
  /** Instance of this process; undefined if counters are not shared. */
  readonly instance: string | undefined;
  readonly counters: { readonly triggers: TriggerCounters; readonly targets: AgentCounters };
  redact(text: string): string;
}

export class ClusterSide {
  readonly nodes: SeveralNodes;
  readonly #follower: PauseFollower;
  /** Undefined if counters are not shared. */
  readonly tallies: ClusterTallies | undefined;

  constructor(cluster: Cluster, options: ClusterSideOptions) {
    const { store, log, pauses, mark, instance, counters, redact } = options;
    const { membership } = cluster;
    this.nodes = new SeveralNodes({ ...options, cluster });
    this.#follower = new PauseFollower(membership, { store, log, pauses, mark });
    const { triggers, targets } = counters;
    if (instance !== undefined)
      this.tallies = new ClusterTallies({
        ...{ membership, store, instance, redact },
        own: () => ({ triggers: triggers.own, targets: targets.own }),
        revision: () => triggers.revision + targets.revision,
      });
  }

  close(): void {
    this.#follower.end();
    this.nodes.close();
  }

  /** Stores the last counts, once nothing is counted any more. */
  async end(): Promise<void> {
    await this.tallies?.end();
  }
}
