// Keyboard commands of the tree, as ARIA recommends.

import type { ActorNode } from '../../wire/feed.ts';
import { SESSIONS } from '../address.ts';
import type { TreeLine, TreeLines } from './lines.ts';

/** Lines per press of Page Up or Page Down. */
const PAGE = 10;

export type TreeMove =
  | { readonly kind: 'go'; readonly line: number }
  /** Expands or collapses the actor or group at the address. */
  | { readonly kind: 'toggle'; readonly address: string };

/**
 * Returns the move for a key; undefined if the key has no effect. `line` is the selected line, or −1.
 * `isFixed`: lines cannot be collapsed, because the tree is filtered.
 */
export function treeMoveFor<A extends ActorNode>(
  key: string,
  line: number,
  lines: TreeLines<A>,
  isFixed: boolean,
): TreeMove | undefined {
  const expansion = expansionOf(lines.at(line));
  switch (key) {
    case 'ArrowDown':
      return goTo(line + 1, lines.length);
    case 'ArrowUp':
      return goTo(line - 1, lines.length);
    case 'PageDown':
      return goTo(line + PAGE, lines.length);
    case 'PageUp':
      return goTo(line - PAGE, lines.length);
    case 'Home':
      return goTo(0, lines.length);
    case 'End':
      return goTo(lines.length - 1, lines.length);
    case 'ArrowRight':
      if (expansion === undefined) return undefined;
      return expansion.isOpen ? goTo(line + 1, lines.length) : { kind: 'toggle', address: expansion.address };
    case 'ArrowLeft': {
      if (expansion?.isOpen === true && !isFixed) return { kind: 'toggle', address: expansion.address };
      const parent = lines.parentOf(line);
      return parent === undefined ? undefined : { kind: 'go', line: parent };
    }
    default:
      return undefined;
  }
}

/** Returns the move to the nearest existing line. */
function goTo(line: number, length: number): TreeMove | undefined {
  return length === 0 ? undefined : { kind: 'go', line: Math.max(0, Math.min(line, length - 1)) };
}

/** Returns undefined for lines without children. */
function expansionOf<A extends ActorNode>(
  line: TreeLine<A> | undefined,
): { readonly isOpen: boolean; readonly address: string } | undefined {
  if (line?.kind === 'actor' && line.row.children > 0)
    return { isOpen: line.row.isOpen, address: line.row.address };
  if (line?.kind === 'sessions' && line.count > 0) return { isOpen: line.isOpen, address: SESSIONS };
  return undefined;
}
