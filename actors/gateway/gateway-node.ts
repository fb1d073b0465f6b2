// This gateway as a node of a cluster, or alone without a shared store.

import { hostname } from 'node:os';
import type { ConfigHash } from '../../config/config-hash.ts';
import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';
import type { ClusterPart } from '../cluster/cluster-part.ts';
import type { NodeStatus } from '../cluster/node-list.ts';

export interface GatewayNodeOptions {
  readonly config: Pick<GatewayConfig, 'node'>;
  readonly version: string;
  readonly configHash: ConfigHash;
  readonly cluster: ClusterPart | undefined;
  readonly life: { readonly isEnding: boolean };
}

export class GatewayNode {
  /** Name of this gateway among the nodes. */
  readonly name: string;
  /** Hash of the configuration in use. */
  readonly configHash: ConfigHash;
  /** Undefined where the store is not shared. */
  readonly cluster: ClusterPart | undefined;
  readonly #options: GatewayNodeOptions;

  constructor(options: GatewayNodeOptions) {
    this.name = options.config.node.name ?? hostname();
    this.configHash = options.configHash;
    this.cluster = options.cluster;
    this.#options = options;
  }

  /** The known nodes, this one included. */
  get all(): readonly NodeStatus[] {
    if (this.cluster !== undefined) return this.cluster.nodes;
    const { version, configHash, life } = this.#options;
    const state = life.isEnding ? ('draining' as const) : ('running' as const);
    return [{ name: this.name, state, epoch: 0, version, config_hash: configHash.hash }];
  }
}
