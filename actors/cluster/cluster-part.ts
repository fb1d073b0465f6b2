// Part of the gateway (base/supervision/part.ts) that joins the cluster of the shared store, and publishes
// the data of this node. The process has a random instance id, which stays the same when it rejoins. The
// state `draining` is published before the first part stops.

import { randomBytes } from 'node:crypto';
import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';
import { InternalError } from '../base/errors/errors.ts';
import type { Log } from '../base/errors/log.ts';
import type { Part } from '../base/supervision/part.ts';
import type { MakePlacedLink } from '../mcp/links/make-link.ts';
import type { Cluster, Member } from '../store/membership.ts';
import type { Store } from '../store/store.ts';
import type { StorePart } from '../store/store-part.ts';
import { NodeDifferences } from './node-differences.ts';
import { type ClusterNodeState, type NodeStatus, nodeList } from './node-list.ts';
import type { NodePeers } from './node-peers.ts';
import { placedLinks } from './placed-links.ts';
import { ServerPlacement } from './server-placement.ts';
import { SessionRows } from './session-rows.ts';

export interface ClusterPartOptions {
  readonly store: Pick<StorePart, 'open'>;
  /** Hash of the initial configuration. */
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
  readonly peers: NodePeers | undefined;
  /** Placement of servers with `placement: cluster`. */
  readonly placement: ServerPlacement;
  /** Creates the links to servers with `placement: cluster`. */
  readonly makePlaced: MakePlacedLink;
  /** Records of client sessions. */
  readonly sessionRows: SessionRows;
  /** Time of the last member list, in performance.now() milliseconds. */
  #readAt = performance.now();

  /** Joins the cluster of the store. Rejects if the store or a certificate file cannot be opened. */
  static async join(options: ClusterPartOptions): Promise<ClusterPart> {
    const { store, node } = options;
    const opened = await store.open();
    const { cluster } = opened;
    if (cluster === undefined) throw new InternalError('the store does not support a cluster');
    const instance = randomBytes(INSTANCE_BYTES).toString('hex');
    const peers = node.address === undefined ? undefined : await loadPeers(node, instance);
    const part = new ClusterPart(opened, cluster, instance, peers, options);
    await cluster.membership.publishNow();
    if (peers === undefined) warnWhenSeveral(cluster, options.log);
    return part;
  }

  private constructor(
    store: Store,
    cluster: Cluster,
    instance: string,
    peers: NodePeers | undefined,
    { version, configHash, log }: Pick<ClusterPartOptions, 'version' | 'configHash' | 'log'>,
  ) {
    this.cluster = cluster;
    this.instance = instance;
    this.peers = peers;
    this.sessionRows = new SessionRows({ store, instance, memberOf: (id) => this.memberOf(id) });
    this.placement = new ServerPlacement(cluster);
    this.makePlaced = placedLinks({
      placement: this.placement,
      connectionTo: (member) => peers?.connectionTo(member),
    });
    const { membership } = cluster;
    membership.publish('instance', instance);
    membership.publish('version', version);
    membership.publish('state', 'running' satisfies ClusterNodeState);
    membership.publish('config_hash', configHash);
    const differences = new NodeDifferences(log);
    membership.watch({
      onMembers: () => {
        this.#readAt = performance.now();
        differences.update(this.nodes);
      },
    });
  }

  /** Returns the member with this instance id. */
  memberOf(instance: string): Member | undefined {
    return this.cluster.membership.members.find(({ about }) => about.instance === instance);
  }

  /** Nodes in the last member list. */
  get nodes(): readonly NodeStatus[] {
    return nodeList(this.cluster.membership.members);
  }

  /** Age of the list while the database is unreachable; undefined otherwise. */
  get staleSeconds(): number | undefined {
    if (this.cluster.membership.isMember) return undefined;
    return Math.floor((performance.now() - this.#readAt) / 1000);
  }

  /** Calls the listener when this node was cut off and is a member again. */
  onRejoined(listener: () => void): void {
    this.cluster.membership.watch({ onJoined: listener });
  }

  publishConfigHash(hash: string): void {
    const { membership } = this.cluster;
    membership.publish('config_hash', hash);
    void membership.publishNow();
  }

  onStopping(): void {
    void this.publishDraining();
  }

  /** Publishes that this gateway is stopping. */
  async publishDraining(): Promise<void> {
    const { membership } = this.cluster;
    membership.publish('state', 'draining' satisfies ClusterNodeState);
    await membership.publishNow();
  }

  /** Closing the store ends the membership. */
  async drain(): Promise<void> {}
}

async function loadPeers(node: GatewayConfig['node'], instance: string): Promise<NodePeers> {
  const { makeNodePeers } = await import('./node-peers.ts');
  return makeNodePeers(node, instance);
}

/** Warns once that sessions are served only by the node that opened them, since no address is configured. */
function warnWhenSeveral({ membership, name }: Cluster, log: Log): void {
  const check = () => {
    if (membership.members.length < 2) return;
    unwatch();
    log.warn(
      { node: name, nodes: membership.members.map((member) => member.name) },
      'several gateways use the database, but node.address is not set: each session is served only by its own gateway',
    );
  };
  const unwatch = membership.watch({ onMembers: check });
  check();
}
