// The actor tree and the clients' sessions: who is there and in which state. Its lines are drawn only where they are in
// sight, and a session is asked for only then.

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ClusterNumbers } from '../../wire/feed-wire.ts';
import {
  isOfNodes,
  isOfSessions,
  NODES,
  nodeAt,
  OVERVIEW,
  ROOT,
  SESSIONS,
  sessionAt,
  type View,
} from '../address.ts';
import type { Go } from '../feed/hooks.ts';
import type { ActorView, PageState } from '../feed/store.ts';
import { matchingNodes } from '../node-words.ts';
import { countedOf } from '../words.ts';
import { ActorRow } from './actor-row.tsx';
import { NodeLine, NodesRow } from './node-row.tsx';
import { GroupRow, SessionLine } from './session-row.tsx';
import { treeMove } from './tree-keys.ts';
import { addressOfLine, TreeLines } from './tree-lines.ts';
import { treeRows } from './tree-rows.ts';
import { useSessionIndex, useSessions } from './use-sessions.ts';
import { VirtualList } from './virtual-list.tsx';

const NO_CLUSTER: ClusterNumbers = { nodes: [], own: '' };
const ROW = 30;

interface TreePaneProps {
  readonly state: PageState;
  readonly view: View;
  readonly chosen: ActorView | undefined;
  readonly go: Go;
}

export function TreePane({ state, view, chosen, go }: TreePaneProps) {
  const [filter, setFilter] = useState('');
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const [drawn, setDrawn] = useState({ first: 0, last: 0 });
  const sessions = useSessions();
  const session = sessionAt(view.actor);
  const isFiltered = filter.trim() !== '';
  const hasMatch = isFiltered && sessions.matching > 0;
  const cluster = state.totals?.cluster ?? NO_CLUSTER;
  const { nodes } = cluster;
  const found = isFiltered ? matchingNodes(nodes, filter) : nodes;
  const isRootWanted = hasMatch || (isFiltered && found.length > 0);

  const rows = useMemo(
    () => treeRows(state.actors, { filter, toggled, isRootWanted }),
    [state.actors, filter, toggled, isRootWanted],
  );
  const { totals } = state;
  const count = isFiltered ? sessions.matching : totals === null ? 0 : totals.sessions + totals.listens;
  const isRootOpen = rows[0]?.isOpen === true;
  const lines = new TreeLines(
    rows,
    {
      isShown: isFiltered ? hasMatch : totals !== null && isRootOpen,
      isOpen: isFiltered || toggled.has(SESSIONS),
      count,
      row: (index) => sessions.row(index),
    },
    isRootOpen ? found : [],
  );
  const from = lines.sessionsFrom;
  const inSight = { first: Math.max(0, drawn.first - from), last: Math.max(0, drawn.last - from) };
  // With a filter it has to be found out how many there are, whether they are in sight or not.
  const isAsked = isFiltered || (lines.length > from && inSight.last > 0);
  useEffect(
    () => sessions.want(filter.trim(), isAsked ? inSight : undefined),
    [sessions, filter, isAsked, inSight.first, inSight.last],
  );

  const index = useSessionIndex(sessions, session, filter.trim());
  const at = isOfSessions(view.actor)
    ? lines.lineOfSession(session === undefined ? 'all' : index)
    : isOfNodes(view.actor)
      ? lines.lineOfNode(nodeAt(view.actor))
      : rows.findIndex(({ actor }) => actor.id === chosen?.id);
  /** The line that the keyboard has gone to and whose session is not there yet. */
  const [heading, setHeading] = useState<number>();
  const arrived = useRef<string>();

  const choose = (line: number, isReplacing: boolean) => {
    const there = lines.at(line);
    const target = there && addressOfLine(there);
    // The first line is an actor like any other here, and not the overview.
    const address = target === OVERVIEW ? ROOT : target;
    setHeading(address === undefined && there !== undefined ? line : undefined);
    if (address === undefined) return;
    if (isReplacing) arrived.current = address;
    go({ actor: address, tab: view.tab }, isReplacing);
  };
  useEffect(() => {
    const there = heading === undefined ? undefined : lines.at(heading);
    if (heading !== undefined && (there === undefined || addressOfLine(there) !== undefined))
      choose(heading, true);
  });
  // Whoever comes by a link or a click, and not on the way through the tree, wants to see what is in the group.
  useEffect(() => {
    if (arrived.current === view.actor) return;
    arrived.current = view.actor;
    if (isOfSessions(view.actor)) setToggled((before) => new Set(before).add(SESSIONS));
  }, [view.actor]);

  const toggle = (address: string) => {
    // What has passed a filter is never folded away.
    if (isFiltered) return;
    const next = new Set(toggled);
    if (!next.delete(address)) next.add(address);
    setToggled(next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const move = treeMove(event.key, heading ?? at, lines, isFiltered);
    if (move === undefined) return;
    event.preventDefault();
    if (move.kind === 'go') choose(move.line, true);
    else toggle(move.address);
  };
  const onRange = useCallback((first: number, last: number) => setDrawn({ first, last }), []);
  return (
    <section class="pane tree" aria-label="Actors">
      <div class="bar">
        <input
          id="filter"
          type="search"
          placeholder="Filter by name or state  ( / )"
          aria-label="Filter the tree"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
      </div>
      {isFiltered && lines.length === 0 && (
        <p class="empty" id="no-actors">
          No actor and no session has that in its name or state.
        </p>
      )}
      <VirtualList
        // Another filter shows its hits from the first, or the chosen one.
        key={filter.trim()}
        length={lines.length}
        rowHeight={ROW}
        onRange={onRange}
        reveal={
          heading === undefined
            ? { key: session === undefined ? (chosen?.id ?? view.actor) : view.actor, index: at }
            : { key: `line ${heading}`, index: heading }
        }
        attributes={{
          role: 'tree',
          tabIndex: 0,
          'aria-label': 'Actor tree',
          'aria-activedescendant': at < 0 ? undefined : 'chosen-row',
          onKeyDown,
        }}
        row={(line) => {
          const there = lines.at(line);
          const onChoose = () => choose(line, false);
          if (there?.kind === 'actor')
            return (
              <ActorRow
                key={there.row.actor.id}
                row={there.row}
                state={state}
                isChosen={there.row.actor.id === chosen?.id}
                onChoose={onChoose}
                onToggle={() => toggle(there.row.address)}
              />
            );
          if (there?.kind === 'nodes')
            return <NodesRow key="nodes" nodes={nodes} isChosen={view.actor === NODES} onChoose={onChoose} />;
          if (there?.kind === 'node')
            return (
              <NodeLine
                key={`node ${there.node.epoch}`}
                {...{ node: there.node, index: there.index, count: there.count, cluster }}
                isChosen={there.node.name === nodeAt(view.actor)}
                onChoose={onChoose}
              />
            );
          if (there?.kind === 'group')
            return (
              <GroupRow
                key="sessions"
                count={there.count}
                isOpen={there.isOpen}
                isChosen={view.actor === SESSIONS}
                onChoose={onChoose}
                onToggle={() => toggle(SESSIONS)}
              />
            );
          if (there?.kind === 'session')
            return (
              <SessionLine
                key={`session ${there.session?.number ?? `at ${there.index}`}`}
                line={there}
                at={sessions.at}
                isChosen={session !== undefined && there.session?.number === session}
                onChoose={onChoose}
              />
            );
          return null;
        }}
      />
      <p class="foot">
        {countedOf(rows.length, state.actors.size, 'actor')}
        {hasMatch && `, ${countedOf(sessions.matching, sessions.total, 'session')}`}
      </p>
    </section>
  );
}
