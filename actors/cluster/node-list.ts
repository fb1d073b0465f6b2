// Node list for operators, built from the data that the nodes publish, so it is the same on every node. A
// gateway with a private store lists only itself. The list contains no address, instance id or secret, and
// only short texts.

import type { Member } from '../store/membership.ts';

export type ClusterNodeState = 'running' | 'draining';

export interface NodeStatus {
  readonly name: string;
  readonly state: ClusterNodeState;
  /** Membership epoch; 0 without a cluster. */
  readonly epoch: number;
  readonly version: string | null;
  /** Null for nodes of versions that publish no hash. */
  readonly config_hash: string | null;
}

/** Fields that should be equal on all nodes, with display names. */
export const comparedFields = [
  ['config_hash', 'configuration'],
  ['version', 'version'],
] as const;

const MAX_TEXT = 64;

/** Returns the nodes, sorted by name. */
export function nodeList(members: readonly Member[]): readonly NodeStatus[] {
  const nodes = members.map(({ name, epoch, about }) => ({
    name,
    state: about.state === 'draining' ? ('draining' as const) : ('running' as const),
    epoch,
    version: shortText(about.version),
    config_hash: shortText(about.config_hash),
  }));
  return nodes.sort((a, b) => (a.name === b.name ? a.epoch - b.epoch : a.name < b.name ? -1 : 1));
}

/** Returns the fields in which any two nodes differ; missing values are ignored. */
export function differencesOf(nodes: readonly NodeStatus[]): readonly (typeof comparedFields)[number][] {
  return comparedFields.filter(([field]) => {
    const values = nodes.flatMap((node) => node[field] ?? []);
    return new Set(values).size > 1;
  });
}

function shortText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value.slice(0, MAX_TEXT) : null;
}
