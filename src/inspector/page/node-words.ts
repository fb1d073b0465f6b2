// What is to be said of the nodes of a cluster: in what two of them differ, and which one is none of the others.

import type { NodeRow } from '../wire/feed-wire.ts';

const compared = [
  ['config_hash', 'configuration'],
  ['version', 'version'],
] as const;

/** `configuration`, `version`, in which any two differ; what one does not tell is no difference. */
export function differingWords(nodes: readonly NodeRow[]): readonly string[] {
  return compared.flatMap(([field, word]) => {
    const told = nodes.flatMap((node) => node[field] ?? []);
    return new Set(told).size > 1 ? [word] : [];
  });
}

/** Whether it differs in anything from the one that this page is of. */
export function differsFromThis(node: NodeRow, nodes: readonly NodeRow[]): boolean {
  const own = nodes.find(({ is_this }) => is_this);
  return own !== undefined && differingWords([own, node]).length > 0;
}

/** Those that have all of these words; a hash by its beginning. */
export function matchingNodes(nodes: readonly NodeRow[], filter: string): readonly NodeRow[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return nodes.filter(({ name, state, version, config_hash }) => {
    const text = `node ${name} ${state} ${version ?? ''}`.toLowerCase();
    return words.every((word) => text.includes(word) || config_hash?.startsWith(word) === true);
  });
}
