// The gateway as a member of a cluster, as a part of it: begins with the store that is shared, and tells the others what this process
// is. Only gateways with such a store have it.
//
// CLP1  a process has an instance: nobody can guess it, and it stays the same as long as the process, whatever becomes of its membership.
// CLP2  that a gateway stops is told when it begins to, before anything of it ends.

import { randomBytes } from 'node:crypto';
import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';
import { InternalError } from '../base/errors/errors.ts';
import type { Log } from '../base/errors/log.ts';
import type { Part } from '../base/supervision/part.ts';
import type { MakePlacedLink } from '../mcp/links/make-link.ts';
import type { Cluster, Member } from '../store/membership.ts';
import type { StorePart } from '../store/store-part.ts';
import { NodeDifferences } from './node-differences.ts';
import { type NodeState, type NodeStatus, nodeList } from './node-list.ts';
import { placedLinks } from './placed-links.ts';
import type { Reach } from './reach.ts';
import { ServerPlacement } from './server-placement.ts';

export interface ClusterPartOptions {
  readonly store: Pick<StorePart, 'open'>;
  /** Hash of the configuration at the start. */
  readonly configHash: string;
  readonly log: Log;
  readonly version: string;
  readonly node: GatewayConfig['node'];
}

const INSTANCE_BYTES = 8;

export class ClusterPart implements Part {
  readonly instance: string;
  readonly cluster: Cluster;
  /** Undefined without node.address. */
  readonly reach: Reach | undefined;
  /** Where servers of `placement: cluster` run. */
  readonly placement: ServerPlacement;
  readonly makePlaced: MakePlacedLink;
  /** When the members were read last, by the own clock. */
  #readAt = performance.now();

  /** Joins the cluster of the store. Rejects if the store or a certificate file cannot be opened. */
  static async join(options: ClusterPartOptions): Promise<ClusterPart> {
    const { store, node } = options;
    const { cluster } = await store.open();
    if (cluster === undefined) throw new InternalError('the store knows no other nodes');
    const instance = randomBytes(INSTANCE_BYTES).toString('hex');
    const reach = node.address === undefined ? undefined : await loadReach(node, instance);
    const part = new ClusterPart(cluster, instance, reach, options);
    await cluster.membership.tellNow();
    if (reach === undefined) warnWhenSeveral(cluster, options.log);
    return part;
  }

  private constructor(
    cluster: Cluster,
    instance: string,
    reach: Reach | undefined,
    { version, configHash, log }: Pick<ClusterPartOptions, 'version' | 'configHash' | 'log'>,
  ) {
    this.cluster = cluster;
    this.instance = instance;
    this.reach = reach;
    this.placement = new ServerPlacement(cluster);
    this.makePlaced = placedLinks({ placement: this.placement, wayTo: (member) => reach?.to(member) });
    const { membership } = cluster;
    membership.tell('instance', instance);
    membership.tell('version', version);
    membership.tell('state', 'running' satisfies NodeState);
    membership.tell('config_hash', configHash);
    const differences = new NodeDifferences(log);
    membership.watch({
      onMembers: () => {
        this.#readAt = performance.now();
        differences.look(this.nodes);
      },
    });
  }

  /** The member that is the process of that instance; undefined where none is. */
  memberOf(instance: string): Member | undefined {
    return this.cluster.membership.members.find(({ about }) => about.instance === instance);
  }

  /** As they were read last. */
  get nodes(): readonly NodeStatus[] {
    return nodeList(this.cluster.membership.members);
  }

  /** How old the list is, where the database is away; undefined while it is not. */
  get staleSeconds(): number | undefined {
    if (this.cluster.membership.isMember) return undefined;
    return Math.floor((performance.now() - this.#readAt) / 1000);
  }

  /** Publishes a new configuration hash. */
  tellConfigHash(hash: string): void {
    const { membership } = this.cluster;
    membership.tell('config_hash', hash);
    void membership.tellNow();
  }

  onStopping(): void {
    void this.tellDraining();
  }

  /** Publishes that this gateway is stopping (CLP2). */
  async tellDraining(): Promise<void> {
    const { membership } = this.cluster;
    membership.tell('state', 'draining' satisfies NodeState);
    await membership.tellNow();
  }

  /** Its membership ends with the store. */
  async drain(): Promise<void> {}
}

async function loadReach(node: GatewayConfig['node'], instance: string): Promise<Reach> {
  const { makeReach } = await import('./reach.ts');
  return makeReach(node, instance);
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
