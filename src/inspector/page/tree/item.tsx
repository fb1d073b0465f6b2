// One line of the tree, by its kind.

import type { ClusterNumbers } from '../../wire/feed.ts';
import { NODES, nodeAt, type PageView, SESSIONS, sessionAt } from '../address.ts';
import type { ActorView, PageState } from '../feed/page-state.ts';
import { ActorRow } from './actor-row.tsx';
import type { TreeLine } from './lines.ts';
import { NodeLine, NodesRow } from './node-row.tsx';
import { GroupRow, SessionLine } from './session-row.tsx';

export interface TreeItemProps {
  readonly item: TreeLine<ActorView>;
  readonly state: PageState;
  readonly cluster: ClusterNumbers;
  readonly view: PageView;
  readonly selected: ActorView | undefined;
  /** Time of the sessions' data, by the gateway's clock. */
  readonly sessionsAt: number;
  onSelect(): void;
  onToggle(address: string): void;
}

/** Key of a line: stable while its content is in the tree. */
export function keyOfLine(item: TreeLine<ActorView>): string {
  switch (item.kind) {
    case 'actor':
      return item.row.actor.id;
    case 'node':
      return `node ${item.node.epoch}`;
    case 'session':
      return `session ${item.session?.number ?? `at ${item.index}`}`;
    default:
      return item.kind;
  }
}

export function TreeItem(props: TreeItemProps) {
  const { item, state, cluster, view, selected, sessionsAt, onSelect, onToggle } = props;
  switch (item.kind) {
    case 'actor':
      return (
        <ActorRow
          row={item.row}
          state={state}
          isSelected={item.row.actor.id === selected?.id}
          onSelect={onSelect}
          onToggle={() => onToggle(item.row.address)}
        />
      );
    case 'nodes':
      return <NodesRow nodes={cluster.nodes} isSelected={view.actor === NODES} onSelect={onSelect} />;
    case 'node':
      return (
        <NodeLine
          node={item.node}
          index={item.index}
          count={item.count}
          cluster={cluster}
          isSelected={item.node.name === nodeAt(view.actor)}
          onSelect={onSelect}
        />
      );
    case 'sessions':
      return (
        <GroupRow
          count={item.count}
          isOpen={item.isOpen}
          isSelected={view.actor === SESSIONS}
          onSelect={onSelect}
          onToggle={() => onToggle(SESSIONS)}
        />
      );
    case 'session': {
      const session = sessionAt(view.actor);
      const isSelected = session !== undefined && item.session?.number === session;
      return <SessionLine line={item} at={sessionsAt} isSelected={isSelected} onSelect={onSelect} />;
    }
  }
}
