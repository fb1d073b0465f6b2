// The gateway as a member of a cluster, as a part of it: begins with the store that is shared, and tells the others what this process
// is. Only gateways with such a store have it.
//
// CLP1  a process has an instance: nobody can guess it, and it stays the same as long as the process, whatever becomes of its membership.
// CLP2  that a gateway stops is told when it begins to, before anything of it ends.

import { randomBytes } from 'node:crypto';
import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';
import { InternalError } from '../errors.ts';
import type { Part } from '../gateway/life.ts';
import { type Log, silentLog } from '../log.ts';
import type { StorePart } from '../store/store-part.ts';
import { placedLinks } from '../upstream/placed-links.ts';
import type { Cluster, Member } from './cluster.ts';
import type { Reach } from './reach.ts';
import { ServerPlacement } from './server-placement.ts';

export type NodeState = 'running' | 'draining';

export interface ClusterPartOptions {
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
  #log: Log = silentLog;
  #store: Pick<StorePart, 'open'> | undefined;
  #cluster: Cluster | undefined;
  #reach: Reach | undefined;

  constructor(options: ClusterPartOptions) {
    this.#options = options;
  }

  /** To be called once, before boot, with what the gateway has. */
  attach(store: Pick<StorePart, 'open'>, log: Log): void {
    this.#store = store;
    this.#log = log;
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

  async boot(): Promise<void> {
    const store = await this.#store?.open({ prepare: async () => {}, onThereLate: () => {} });
    const cluster = store?.cluster;
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
    await membership.tellNow();
    if (this.#reach === undefined) this.#warnWhenSeveral(cluster);
  }

  /** The gateway begins to stop. */
  async tellDraining(): Promise<void> {
    const membership = this.#cluster?.membership;
    membership?.tell('state', 'draining' satisfies NodeState);
    await membership?.tellNow();
  }

  /** Its membership ends with the store. */
  async drain(): Promise<void> {}

  /** Once: without an address sessions stay where they began. */
  #warnWhenSeveral({ membership, name }: Cluster): void {
    const look = () => {
      if (membership.members.length < 2) return;
      unwatch();
      this.#log.warn(
        { node: name, nodes: membership.members.map((member) => member.name) },
        'several gateways work on the database and node.address is not set: sessions of this one are not served by the others, nor theirs here',
      );
    };
    const unwatch = membership.watch({ onMembers: look });
    look();
  }
}
