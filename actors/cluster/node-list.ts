// The nodes as an operator sees them: the same list at each of them, since it is read from what every one has told. A gateway that shares
// its store with nobody is a list of one.
//
// NDL1  no address, no instance and no secret is in the list, and nothing of a member but short texts.

import type { Member } from '../store/membership.ts';

export type NodeState = 'running' | 'draining';

export interface NodeStatus {
  readonly name: string;
  readonly state: NodeState;
  /** Of its membership; 0 where there is no cluster. */
  readonly epoch: number;
  readonly version: string | null;
  /** Null for a node of a version that tells none. */
  readonly config_hash: string | null;
}

/** In what two nodes may differ, with the word for it. */
export const comparedFields = [
  ['config_hash', 'configuration'],
  ['version', 'version'],
] as const;

const MAX_TEXT = 64;

/** By their names. */
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

/** In which of them any two differ; what one does not tell is no difference. */
export function differencesOf(nodes: readonly NodeStatus[]): readonly (typeof comparedFields)[number][] {
  return comparedFields.filter(([field]) => {
    const told = nodes.flatMap((node) => node[field] ?? []);
    return new Set(told).size > 1;
  });
}

function shortText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value.slice(0, MAX_TEXT) : null;
}
