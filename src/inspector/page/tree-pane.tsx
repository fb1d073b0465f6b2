// The actor tree: who is there, in which state, how often it was started again, and since when it runs.

import { useMemo, useRef, useState } from 'preact/hooks';
import type { View } from './address.ts';
import { baseName } from './address.ts';
import type { Go } from './hooks.ts';
import { Pill } from './pill.tsx';
import type { ActorView, PageState } from './store.ts';
import { type TreeRow, treeRows } from './tree-rows.ts';
import { VirtualList } from './virtual-list.tsx';
import { span } from './words.ts';

const ROW = 30;
const PAGE = 10;

interface TreePaneProps {
  readonly state: PageState;
  readonly view: View;
  readonly chosen: ActorView | undefined;
  readonly go: Go;
}

export function TreePane({ state, view, chosen, go }: TreePaneProps) {
  const [filter, setFilter] = useState('');
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const tree = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => treeRows(state.actors, { filter, toggled }), [state.actors, filter, toggled]);
  const at = rows.findIndex(({ actor }) => actor.id === chosen?.id);
  const choose = (row: TreeRow<ActorView> | undefined, isReplacing: boolean) => {
    if (row !== undefined) go({ actor: row.depth === 0 ? '' : row.address, tab: view.tab }, isReplacing);
  };
  const toggle = ({ address }: TreeRow<ActorView>) => {
    const next = new Set(toggled);
    if (!next.delete(address)) next.add(address);
    setToggled(next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[at];
    const moves: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + PAGE,
      PageUp: at - PAGE,
      Home: 0,
      End: rows.length - 1,
    };
    const move = moves[event.key];
    if (move !== undefined) choose(rows[Math.max(0, Math.min(move, rows.length - 1))], true);
    else if (event.key === 'ArrowRight' && row !== undefined && row.children > 0 && !row.isOpen) toggle(row);
    else if (event.key === 'ArrowLeft' && row !== undefined) {
      if (row.isOpen && row.children > 0) toggle(row);
      else
        choose(
          rows.slice(0, at).findLast(({ depth }) => depth < row.depth),
          true,
        );
    } else return;
    event.preventDefault();
  };
  return (
    <section class="pane tree" aria-label="Actors" ref={tree}>
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
      <VirtualList
        items={rows}
        rowHeight={ROW}
        reveal={{ key: chosen?.id ?? '', index: at }}
        attributes={{
          role: 'tree',
          tabIndex: 0,
          'aria-label': 'Actor tree',
          'aria-activedescendant': at < 0 ? undefined : 'chosen-row',
          onKeyDown,
        }}
        row={(row) => (
          <Row
            key={row.actor.id}
            row={row}
            state={state}
            isChosen={row.actor.id === chosen?.id}
            onChoose={() => choose(row, false)}
            onToggle={() => toggle(row)}
          />
        )}
      />
      <p class="foot">
        {rows.length} of {state.actors.size} actors
      </p>
    </section>
  );
}

interface RowProps {
  readonly row: TreeRow<ActorView>;
  readonly state: PageState;
  readonly isChosen: boolean;
  onChoose(): void;
  onToggle(): void;
}

function Row({ row, state, isChosen, onChoose, onToggle }: RowProps) {
  const { actor, depth, children, isOpen } = row;
  const server = actor.machine === 'server' ? state.servers.get(baseName(actor.name)) : undefined;
  const isUp = actor.state === 'running' || actor.state === 'idle';
  const age =
    server === undefined || server.uptime_seconds === 0 || !isUp ? '' : span(ageMs(server, state.at));
  return (
    // The tree itself has the keyboard, as a tree should.
    // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled by the tree
    <div
      class={`row ${isChosen ? 'chosen' : ''}`}
      role="treeitem"
      tabIndex={-1}
      id={isChosen ? 'chosen-row' : undefined}
      aria-level={depth + 1}
      aria-selected={isChosen}
      aria-expanded={children > 0 ? isOpen : undefined}
      data-name={baseName(actor.name)}
      data-machine={actor.machine ?? ''}
      onClick={onChoose}
    >
      <span style={{ width: `${depth * 14}px` }} class="indent" />
      <span
        class="fold"
        aria-hidden="true"
        onClick={(event) => {
          if (children === 0) return;
          event.stopPropagation();
          onToggle();
        }}
      >
        {children === 0 ? '' : isOpen ? '▾' : '▸'}
      </span>
      <span class="name" title={actor.name}>
        {baseName(actor.name)}
      </span>
      {children > 0 && !isOpen && actor.machine !== 'server' && <span class="aside">{children}</span>}
      {server !== undefined && server.restarts > 0 && (
        <span class="aside" title={`${server.restarts} starts after a failure`}>
          ↻{server.restarts}
        </span>
      )}
      <span class="aside">{age}</span>
      <Pill state={actor.state} />
    </div>
  );
}

function ageMs({ uptime_seconds, at }: { uptime_seconds: number; at: number }, now: number): number {
  return uptime_seconds * 1000 + (now - at);
}
