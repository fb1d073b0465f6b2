// Preact hook for the selected line of the tree, which is the line of the view's address.

import { useEffect, useRef, useState } from 'preact/hooks';
import { isNodeView, isSessionView, nodeAt, OVERVIEW, type PageView, ROOT, sessionAt } from '../address.ts';
import type { Go, GoOptions } from '../feed/hooks.ts';
import type { ActorView } from '../feed/page-state.ts';
import { addressOfLine, type TreeLines } from './lines.ts';
import type { TreeRow } from './rows.ts';

export interface Selection {
  /** Selected line; −1 if hidden. */
  readonly at: number;
  /** Line selected by the keyboard whose session is still loading. */
  readonly pendingLine: number | undefined;
  /** Shows the view of the line. */
  choose(line: number, options?: GoOptions): void;
}

/**
 * Returns the selected line and a function that selects another. `sessionIndex` is the index of the selected
 * session among the matching sessions. `onLink` is called when a link or click selects a session; it expands
 * the sessions.
 */
export function useSelection(
  {
    view,
    selected,
    go,
  }: { readonly view: PageView; readonly selected: ActorView | undefined; readonly go: Go },
  lines: TreeLines<ActorView>,
  rows: readonly TreeRow<ActorView>[],
  sessionIndex: number | undefined,
  onLink: () => void,
): Selection {
  const [pendingLine, setPendingLine] = useState<number>();
  const lastAddress = useRef<string>();
  const at = isSessionView(view.actor)
    ? lines.lineOfSession(sessionAt(view.actor) === undefined ? 'all' : sessionIndex)
    : isNodeView(view.actor)
      ? lines.lineOfNode(nodeAt(view.actor))
      : rows.findIndex(({ actor }) => actor.id === selected?.id);

  const choose = (line: number, { isReplacing = false }: GoOptions = {}) => {
    const item = lines.at(line);
    const target = item && addressOfLine(item);
    // The empty address is the overview; the root of the tree is the gateway's actor.
    const address = target === OVERVIEW ? ROOT : target;
    setPendingLine(address === undefined && item !== undefined ? line : undefined);
    if (address === undefined) return;
    if (isReplacing) lastAddress.current = address;
    go({ actor: address, tab: view.tab }, { isReplacing });
  };
  useEffect(() => {
    const item = pendingLine === undefined ? undefined : lines.at(pendingLine);
    if (pendingLine !== undefined && (item === undefined || addressOfLine(item) !== undefined))
      choose(pendingLine, { isReplacing: true });
  });
  // Links and clicks expand the group of sessions. The keyboard does not: its moves (`isReplacing`) have
  // stored their address in `lastAddress`.
  useEffect(() => {
    if (lastAddress.current === view.actor) return;
    lastAddress.current = view.actor;
    if (isSessionView(view.actor)) onLink();
  }, [view.actor]);
  return { at, pendingLine, choose };
}
