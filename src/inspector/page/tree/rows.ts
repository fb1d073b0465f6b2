// Rows of the actor tree, without actors that do not match the filter or are below a collapsed actor.

import type { ActorNode } from '../../wire/feed.ts';
import { addressOf } from '../address.ts';
import { stateText } from '../state-text.ts';

export interface TreeRow<A extends ActorNode> {
  readonly actor: A;
  readonly address: string;
  readonly depth: number;
  /** Number of children, even if they are not visible. */
  readonly children: number;
  readonly isOpen: boolean;
}

export interface TreeOptions {
  /** Terms matched with name, state and machine. Matches are shown with all ancestors. */
  readonly filter: string;
  /**
   * Addresses that the user expanded or collapsed. By default the gateway and its supervisors are expanded,
   * all others collapsed.
   */
  readonly toggled: ReadonlySet<string>;
  /** True if the root must be shown, because a node or session below it matches the filter. */
  readonly isRootShown?: boolean;
}

export function treeRows<A extends ActorNode>(
  actors: ReadonlyMap<string, A>,
  { filter, toggled, isRootShown = false }: TreeOptions,
): TreeRow<A>[] {
  const children = childrenOf(actors);
  const terms = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const visibleIds = terms.length === 0 ? undefined : idsOfMatches(actors, terms, isRootShown);
  const rows: TreeRow<A>[] = [];
  const add = (actor: A, depth: number): void => {
    if (visibleIds !== undefined && !visibleIds.has(actor.id)) return;
    const address = addressOf(actor, actors);
    const childActors = children.get(actor.id) ?? [];
    const isOpenByDefault = actor.machine === 'gateway' || actor.machine === 'supervisor';
    const isOpen = visibleIds !== undefined || isOpenByDefault !== toggled.has(address);
    rows.push({ actor, address, depth, children: childActors.length, isOpen });
    if (isOpen) for (const child of childActors) add(child, depth + 1);
  };
  for (const root of children.get(null) ?? []) add(root, 0);
  return rows;
}

/** Groups actors by parent, sorted by name. Actors with an unknown parent are at the top level. */
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

/** Returns the ids of all matches and ancestors. */
function idsOfMatches(
  actors: ReadonlyMap<string, ActorNode>,
  terms: readonly string[],
  isRootShown: boolean,
): Set<string> {
  const visibleIds = new Set<string>();
  const [root] = actors.keys();
  if (isRootShown && root !== undefined) visibleIds.add(root);
  for (const actor of actors.values()) {
    const text = `${actor.name} ${stateText(actor.state)} ${actor.machine ?? ''}`.toLowerCase();
    if (!terms.every((term) => text.includes(term))) continue;
    for (let each: ActorNode | undefined = actor; each !== undefined && !visibleIds.has(each.id); ) {
      visibleIds.add(each.id);
      each = each.parent === null ? undefined : actors.get(each.parent);
    }
  }
  return visibleIds;
}
