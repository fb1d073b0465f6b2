// Tree rows: one per session, and the group of sessions.

import type { SessionRow } from '../../wire/feed.ts';
import { span } from '../format.ts';
import type { TreeLine } from './lines.ts';
import { RowText } from './row-text.tsx';
import { type SelectableProps, TreeItem } from './tree-item.tsx';

interface GroupRowProps extends SelectableProps {
  readonly count: number;
  readonly isOpen: boolean;
  onToggle(): void;
}

export function GroupRow({ count, isOpen, onToggle, ...selectable }: GroupRowProps) {
  const isExpanded = count > 0 ? isOpen : undefined;
  return (
    <TreeItem level={2} fold={{ isExpanded, onToggle }} data={{ 'data-name': 'sessions' }} {...selectable}>
      <RowText name={`sessions (${count.toLocaleString('en')})`} title="sessions" />
    </TreeItem>
  );
}

interface SessionLineProps extends SelectableProps {
  readonly line: TreeLine<never> & { readonly kind: 'session' };
  /** Time of the session's data, by the gateway's clock. */
  readonly at: number;
}

export function SessionLine({ line, at, ...selectable }: SessionLineProps) {
  const { session, index, count } = line;
  return (
    <TreeItem
      level={3}
      position={{ index, count }}
      title={session && sessionText(session, at)}
      data={{ 'data-session': session?.number }}
      {...selectable}
    >
      {session === undefined ? (
        <span class="aside">…</span>
      ) : (
        <>
          <span class="number">{session.number}</span>
          <RowText
            name={
              <>
                {session.client || '–'} <bdi class="aside">{session.version}</bdi>
              </>
            }
            title={`${session.client} ${session.version}`}
            state={session.state}
          >
            <span class="aside place">{session.endpoint.replace(/^\/mcp\/?/, '')}</span>
            <span class="aside">{span(at - session.opened_at)}</span>
          </RowText>
        </>
      )}
    </TreeItem>
  );
}

function sessionText(
  { endpoint, era, opened_at, last_seen_at, streams, in_flight }: SessionRow,
  now: number,
): string {
  return [
    endpoint,
    `protocol era ${era}`,
    `open for ${span(now - opened_at)}`,
    `last message ${span(now - last_seen_at)} ago`,
    `${streams} open ${streams === 1 ? 'stream' : 'streams'}`,
    `${in_flight} ${in_flight === 1 ? 'call' : 'calls'} in flight`,
  ].join(', ');
}
