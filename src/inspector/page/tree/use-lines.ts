// Preact hook for the lines of the tree. It requests only the visible sessions.

import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import type { ClusterNumbers } from '../../wire/feed.ts';
import { SESSIONS } from '../address.ts';
import type { ActorView, PageState } from '../feed/page-state.ts';
import { matchingNodes } from '../node-differences.ts';
import { TreeLines } from './lines.ts';
import { type TreeRow, treeRows } from './rows.ts';
import type { SessionWindow } from './session-window.ts';

const NO_CLUSTER: ClusterNumbers = { nodes: [], own: '' };

export interface VisibleLines {
  /** Visible actors. */
  readonly rows: readonly TreeRow<ActorView>[];
  /** Visible actors, nodes, sessions and headings. */
  readonly lines: TreeLines<ActorView>;
  readonly cluster: ClusterNumbers;
  readonly isFiltered: boolean;
  /** True if any session matches the filter. */
  readonly hasMatch: boolean;
  /** Must be called with the range of rendered lines. */
  onRange(first: number, last: number): void;
}

/** `filter` is trimmed. `toggled` contains the addresses whose expansion differs from the default. */
export function useLines(
  state: PageState,
  sessions: SessionWindow,
  filter: string,
  toggled: ReadonlySet<string>,
): VisibleLines {
  const [rendered, setRendered] = useState({ first: 0, last: 0 });
  const onRange = useCallback((first: number, last: number) => setRendered({ first, last }), []);
  const { actors, totals } = state;
  const isFiltered = filter !== '';
  const hasMatch = isFiltered && sessions.matching > 0;
  const cluster = totals?.cluster ?? NO_CLUSTER;
  const nodes = isFiltered ? matchingNodes(cluster.nodes, filter) : cluster.nodes;
  const isRootShown = hasMatch || (isFiltered && nodes.length > 0);
  const rows = useMemo(
    () => treeRows(actors, { filter, toggled, isRootShown }),
    [actors, filter, toggled, isRootShown],
  );
  const isRootOpen = rows[0]?.isOpen === true;
  const allSessions = totals === null ? 0 : totals.sessions + totals.listens;
  const group = {
    isShown: isFiltered ? hasMatch : totals !== null && isRootOpen,
    isOpen: isFiltered || toggled.has(SESSIONS),
    count: isFiltered ? sessions.matching : allSessions,
    row: (index: number) => sessions.row(index),
  };
  const lines = new TreeLines(rows, group, isRootOpen ? nodes : []);

  const from = lines.sessionsFrom;
  const visibleSessions = {
    first: Math.max(0, rendered.first - from),
    last: Math.max(0, rendered.last - from),
  };
  // A filter requires the number of matches, even if no session is visible.
  const isNeeded = isFiltered || (lines.length > from && visibleSessions.last > 0);
  useEffect(
    () => sessions.setRange(filter, isNeeded ? visibleSessions : undefined),
    [sessions, filter, isNeeded, visibleSessions.first, visibleSessions.last],
  );
  return { rows, lines, cluster, isFiltered, hasMatch, onRange };
}
