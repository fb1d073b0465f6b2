// The gateway as a member of a cluster, as a part of it: begins with the store that is shared, and tells the others what this process
// is. Only gateways with such a store have it.
//
// CLP1  a process has an instance: nobody can guess it, and it stays the same as long as the process, whatever becomes of its membership.
// CLP2  that a gateway stops is told when it begins to, before anything of it ends.

import { randomBytes } from 'node:crypto';
import { InternalError, UnavailableError } from '../errors.ts';
import type { Part } from '../gateway/life.ts';
import type { StorePart } from '../store/store-part.ts';
import { placedLinks } from '../upstream/placed-links.ts';
import type { Cluster, Member } from './cluster.ts';
import type { NodeWay } from './node-way.ts';
import { ServerPlacement } from './server-placement.ts';

export type NodeState = 'running' | 'draining';

const INSTANCE_BYTES = 8;

export class ClusterPart implements Part {
  readonly name = 'cluster';
  readonly instance = randomBytes(INSTANCE_BYTES).toString('hex');
  /** Where servers of `placement: cluster` run. */
  readonly placement = new ServerPlacement(() => this.cluster);
  readonly makePlaced = placedLinks({ placement: this.placement, way: () => this.#wayOut() });
  /** Set by the front, where this node has an address. */
  way: NodeWay | undefined;
  readonly #version: string;
  #store: Pick<StorePart, 'open'> | undefined;
  #cluster: Cluster | undefined;

  constructor(version: string) {
    this.#version = version;
  }

  /** To be called once, before boot, with the store of the gateway. */
  attach(store: Pick<StorePart, 'open'>): void {
    this.#store = store;
  }

  /** There is one from its boot on. */
  get cluster(): Cluster {
    if (this.#cluster === undefined) throw new InternalError('the cluster has not been joined');
    return this.#cluster;
  }

  /** The member that is the process of that instance; undefined where none is. */
  memberOf(instance: string): Member | undefined {
    return this.#cluster?.membership.members.find(({ about }) => about.instance === instance);
  }

  async boot(): Promise<void> {
    const store = await this.#store?.open({ prepare: async () => {}, onThereLate: () => {} });
    const cluster = store?.cluster;
    if (cluster === undefined) throw new InternalError('the store knows no other nodes');
    this.#cluster = cluster;
    const { membership } = cluster;
    membership.tell('instance', this.instance);
    membership.tell('version', this.#version);
    membership.tell('state', 'running' satisfies NodeState);
    await membership.tellNow();
  }

  /** The gateway begins to stop. */
  async tellDraining(): Promise<void> {
    const membership = this.#cluster?.membership;
    membership?.tell('state', 'draining' satisfies NodeState);
    await membership?.tellNow();
  }

  /** Its membership ends with the store. */
  async drain(): Promise<void> {}

  #wayOut(): NodeWay {
    if (this.way !== undefined) return this.way;
    throw new UnavailableError('this node has no node.address, so it cannot reach the others', 1);
  }
}
