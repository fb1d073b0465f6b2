// The gateway as a member of a cluster, as a part of it: begins with the store that is shared, and tells the others what this process
// is. Only gateways with such a store have it.
//
// CLP1  a process has an instance: nobody can guess it, and it stays the same as long as the process, whatever becomes of its membership.
// CLP2  that a gateway stops is told when it begins to, before anything of it ends.

import { randomBytes } from 'node:crypto';
import type { ConfigHash } from '../../config/config-hash.ts';
import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';
import { InternalError } from '../base/errors/errors.ts';
import type { Log } from '../base/errors/log.ts';
import type { Part } from '../base/supervision/part.ts';
import type { Cluster, Member } from '../store/membership.ts';
import type { StorePart } from '../store/store-part.ts';
import { NodeDifferences } from './node-differences.ts';
import { type NodeState, type NodeStatus, nodeList } from './node-list.ts';
import { placedLinks } from './placed-links.ts';
import type { Reach } from './reach.ts';
import { ServerPlacement } from './server-placement.ts';

/** Of the gateway. */
export interface ClusterHost {
  readonly store: Pick<StorePart, 'open'>;
  readonly configHash: ConfigHash;
  readonly log: Log;
}

export interface ClusterPartOptions extends ClusterHost {
  readonly version: string;
  readonly node: GatewayConfig['node'];
}

const INSTANCE_BYTES = 8;

export class ClusterPart implements Part {
  readonly name = 'cluster';
  readonly instance = randomBytes(INSTANCE_BYTES).toString('hex');
  /** Where servers of `placement: cluster` run. */
  readonly placement = new ServerPlacement(() => this.cluster);
  readonly makePlaced = placedLinks({
    placement: this.placement,
    wayTo: (member) => this.#reach?.to(member),
  });
  readonly #options: ClusterPartOptions;
  #cluster: Cluster | undefined;
  #reach: Reach | undefined;
  /** When the members were read last, by the own clock. */
  #readAt = performance.now();

  constructor(options: ClusterPartOptions) {
    this.#options = options;
  }

  /** There is one from its boot on. */
  get cluster(): Cluster {
    if (this.#cluster === undefined) throw new InternalError('the cluster has not been joined');
    return this.#cluster;
  }

  /** Set from its boot on, where the others can reach this node. */
  get reach(): Reach | undefined {
    return this.#reach;
  }

  /** The member that is the process of that instance; undefined where none is. */
  memberOf(instance: string): Member | undefined {
    return this.#cluster?.membership.members.find(({ about }) => about.instance === instance);
  }

  /** As they were read last. */
  get nodes(): readonly NodeStatus[] {
    return nodeList(this.#cluster?.membership.members ?? []);
  }

  /** How old the list is, where the database is away; undefined while it is not. */
  get staleSeconds(): number | undefined {
    if (this.#cluster?.membership.isMember !== false) return undefined;
    return Math.floor((performance.now() - this.#readAt) / 1000);
  }

  async boot(): Promise<void> {
    const { store, configHash, log } = this.#options;
    const { cluster } = await store.open({ prepare: async () => {}, onThereLate: () => {} });
    if (cluster === undefined) throw new InternalError('the store knows no other nodes');
    const { node } = this.#options;
    if (node.address !== undefined) {
      const { makeReach } = await import('./reach.ts');
      this.#reach = await makeReach(node, this.instance);
    }
    this.#cluster = cluster;
    const { membership } = cluster;
    membership.tell('instance', this.instance);
    membership.tell('version', this.#options.version);
    membership.tell('state', 'running' satisfies NodeState);
    membership.tell('config_hash', configHash.hash);
    configHash.whenChanged((hash) => {
      membership.tell('config_hash', hash);
      void membership.tellNow();
    });
    const differences = new NodeDifferences(log);
    membership.watch({
      onMembers: () => {
        this.#readAt = performance.now();
        differences.look(this.nodes);
      },
    });
    await membership.tellNow();
    if (this.#reach === undefined) warnWhenSeveral(cluster, log);
  }

  /** The gateway begins to stop. */
  async tellDraining(): Promise<void> {
    const membership = this.#cluster?.membership;
    membership?.tell('state', 'draining' satisfies NodeState);
    await membership?.tellNow();
  }

  /** Its membership ends with the store. */
  async drain(): Promise<void> {}
}

/** Once: without an address sessions stay where they began. */
function warnWhenSeveral({ membership, name }: Cluster, log: Log): void {
  const look = () => {
    if (membership.members.length < 2) return;
    unwatch();
    log.warn(
      { node: name, nodes: membership.members.map((member) => member.name) },
      'several gateways work on the database and node.address is not set: sessions of this one are not served by the others, nor theirs here',
    );
  };
  const unwatch = membership.watch({ onMembers: look });
  look();
}
