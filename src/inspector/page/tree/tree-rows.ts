// The actor tree as the rows that are to be seen: what is folded away or filtered out has none. The list draws only the
// rows in sight, so that a thousand servers cost no more than thirty.

import type { ActorNode } from '../../wire/feed-wire.ts';
import { addressOf } from '../address.ts';
import { stateText } from '../state-words.ts';

export interface TreeRow<A extends ActorNode> {
  readonly actor: A;
  readonly address: string;
  readonly depth: number;
  readonly children: number;
  readonly isOpen: boolean;
}

export interface TreeOptions {
  /** Text in the name, the state or the machine; the actors around a hit are shown with it. */
  readonly filter: string;
  /** Addresses that are not as they are by default: the gateway and its supervisors open, everything else folded. */
  readonly toggled: ReadonlySet<string>;
  /** Something else below the root has passed the filter. */
  readonly isRootWanted?: boolean;
}

export function treeRows<A extends ActorNode>(
  actors: ReadonlyMap<string, A>,
  { filter, toggled, isRootWanted = false }: TreeOptions,
): TreeRow<A>[] {
  const children = childrenOf(actors);
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = words.length === 0 ? undefined : hits(actors, words, isRootWanted);
  const rows: TreeRow<A>[] = [];
  const add = (actor: A, depth: number): void => {
    if (wanted !== undefined && !wanted.has(actor.id)) return;
    const address = addressOf(actor, actors);
    const own = children.get(actor.id) ?? [];
    const isOpenByDefault = actor.machine === 'gateway' || actor.machine === 'supervisor';
    const isOpen = wanted !== undefined || isOpenByDefault !== toggled.has(address);
    rows.push({ actor, address, depth, children: own.length, isOpen });
    if (isOpen) for (const child of own) add(child, depth + 1);
  };
  for (const root of children.get(null) ?? []) add(root, 0);
  return rows;
}

/** By parent, in the order of their names; a child whose parent is not known stands at the top. */
function childrenOf<A extends ActorNode>(actors: ReadonlyMap<string, A>): Map<string | null, A[]> {
  const byParent = new Map<string | null, A[]>();
  for (const actor of actors.values()) {
    const parent = actor.parent !== null && actors.has(actor.parent) ? actor.parent : null;
    const siblings = byParent.get(parent);
    if (siblings === undefined) byParent.set(parent, [actor]);
    else siblings.push(actor);
  }
  for (const siblings of byParent.values()) siblings.sort((a, b) => (a.name < b.name ? -1 : 1));
  return byParent;
}

/** The ids of those that match and of everybody around them. */
function hits(
  actors: ReadonlyMap<string, ActorNode>,
  words: readonly string[],
  isRootWanted: boolean,
): Set<string> {
  const wanted = new Set<string>();
  const [root] = actors.keys();
  if (isRootWanted && root !== undefined) wanted.add(root);
  for (const actor of actors.values()) {
    const text = `${actor.name} ${stateText(actor.state)} ${actor.machine ?? ''}`.toLowerCase();
    if (!words.every((word) => text.includes(word))) continue;
    for (let at: ActorNode | undefined = actor; at !== undefined && !wanted.has(at.id); ) {
      wanted.add(at.id);
      at = at.parent === null ? undefined : actors.get(at.parent);
    }
  }
  return wanted;
}
