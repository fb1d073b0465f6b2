// This gateway as a node: its name, its configuration hash, and the list of cluster nodes. Without a shared
// store, it is the only node.

import { hostname } from 'node:os';
import { type ConfigDigests, configHash } from '../../config/config-hash.ts';
import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';
import type { ClusterPart } from '../cluster/cluster-part.ts';
import type { NodeStatus } from '../cluster/node-list.ts';

export interface GatewayNodeOptions {
  readonly config: Pick<GatewayConfig, 'node'>;
  readonly version: string;
  /** Digests of the initial configuration. */
  readonly digests: Partial<ConfigDigests>;
  readonly cluster: ClusterPart | undefined;
  readonly life: { readonly isEnding: boolean };
}

export function nodeName({ node }: Pick<GatewayConfig, 'node'>): string {
  return node.name ?? hostname();
}

export class GatewayNode {
  readonly name: string;
  /** Undefined unless the store is shared. */
  readonly cluster: ClusterPart | undefined;
  readonly #options: GatewayNodeOptions;
  #digests: Partial<ConfigDigests>;

  constructor(options: GatewayNodeOptions) {
    this.name = nodeName(options.config);
    this.cluster = options.cluster;
    this.#options = options;
    this.#digests = options.digests;
  }

  /** Hash of the configuration in use. */
  get configHash(): string {
    return configHash(this.#digests);
  }

  /** Replaces the digests of reloaded files, and publishes a changed hash. */
  use(digests: Partial<ConfigDigests>): void {
    const before = this.configHash;
    this.#digests = { ...this.#digests, ...digests };
    if (this.configHash !== before) this.cluster?.publishConfigHash(this.configHash);
  }

  /** All known nodes, including this node. */
  get all(): readonly NodeStatus[] {
    if (this.cluster !== undefined) return this.cluster.nodes;
    const { version, life } = this.#options;
    const state = life.isEnding ? ('draining' as const) : ('running' as const);
    return [{ name: this.name, state, epoch: 0, version, config_hash: this.configHash }];
  }
}
