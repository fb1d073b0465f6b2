// Tree of actors, nodes (gateways of a cluster) and sessions. A line of the tree is an actor, a node, a
// session, or the heading of the nodes or sessions. Only visible lines are rendered, and only visible
// sessions are requested.

import { useState } from 'preact/hooks';
import { type PageView, SESSIONS, sessionAt } from '../address.ts';
import type { Go } from '../feed/hooks.ts';
import type { ActorView, PageState } from '../feed/page-state.ts';
import { pluralizeOf } from '../format.ts';
import { keyOfLine, TreeItem } from './item.tsx';
import { treeMoveFor } from './keys.ts';
import { useLines } from './use-lines.ts';
import { useSelection } from './use-selection.ts';
import { useSessionIndex, useSessions } from './use-sessions.ts';
import { VirtualList } from './virtual-list.tsx';

/** Heights in pixels. In a narrow tree, states and other extras are below the name. */
const ROW_HEIGHTS = { narrow: 42, wide: 30, wideFrom: 400 };

interface TreePaneProps {
  readonly state: PageState;
  readonly view: PageView;
  readonly selected: ActorView | undefined;
  readonly go: Go;
}

export function TreePane({ state, view, selected, go }: TreePaneProps) {
  const [text, setText] = useState('');
  const filter = text.trim();
  // Addresses whose expansion differs from the default: only the gateway and its supervisors are expanded.
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const sessions = useSessions();
  const session = sessionAt(view.actor);
  const visibleLines = useLines(state, sessions, filter, toggled);
  const { rows: actorRows, lines, cluster, isFiltered, hasMatch: hasMatchingSession, onRange } = visibleLines;
  const sessionIndex = useSessionIndex(sessions, session, filter);
  const expandSessions = () => setToggled((before) => new Set(before).add(SESSIONS));
  const {
    at: selectedLine,
    pendingLine,
    choose,
  } = useSelection({ view, selected, go }, lines, actorRows, sessionIndex, expandSessions);

  const toggle = (address: string) => {
    // Filtered items are always expanded.
    if (isFiltered) return;
    const next = new Set(toggled);
    if (!next.delete(address)) next.add(address);
    setToggled(next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const move = treeMoveFor(event.key, pendingLine ?? selectedLine, lines, isFiltered);
    if (move === undefined) return;
    event.preventDefault();
    if (move.kind === 'go') choose(move.line, { isReplacing: true });
    else toggle(move.address);
  };
  const renderLine = (line: number) => {
    const item = lines.at(line);
    if (item === undefined) return null;
    const treeData = { state, cluster, view, selected, sessionsAt: sessions.at };
    return (
      <TreeItem
        key={keyOfLine(item)}
        item={item}
        {...treeData}
        onToggle={toggle}
        onSelect={() => choose(line)}
      />
    );
  };
  return (
    <section class="pane tree" aria-label="Actors">
      <div class="bar">
        <input
          id="filter"
          type="search"
          placeholder="Filter by name or state  ( / )"
          aria-label="Filter the tree"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </div>
      {isFiltered && lines.length === 0 && (
        <p class="empty" id="no-actors">
          No matching actors or sessions.
        </p>
      )}
      <VirtualList
        // A new filter scrolls to the first match, or to the selected one.
        key={filter}
        length={lines.length}
        rowHeights={ROW_HEIGHTS}
        onRange={onRange}
        reveal={
          pendingLine === undefined
            ? { key: session === undefined ? (selected?.id ?? view.actor) : view.actor, index: selectedLine }
            : { key: `line ${pendingLine}`, index: pendingLine }
        }
        attributes={{
          role: 'tree',
          tabIndex: 0,
          'aria-label': 'Actor tree',
          'aria-activedescendant': selectedLine < 0 ? undefined : 'selected-row',
          onKeyDown,
        }}
        row={renderLine}
      />
      <p class="foot">
        {pluralizeOf(actorRows.length, state.actors.size, 'actor')}
        {hasMatchingSession && `, ${pluralizeOf(sessions.matching, sessions.total, 'session')}`}
      </p>
    </section>
  );
}
