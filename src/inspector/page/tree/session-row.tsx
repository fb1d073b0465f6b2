// Tree rows: one per session, and the group of sessions.

import type { SessionRow } from '../../wire/feed.ts';
import { span } from '../format.ts';
import type { TreeLine } from './lines.ts';
import { RowText } from './row-text.tsx';

interface LineProps {
  readonly isSelected: boolean;
  onSelect(): void;
}

interface GroupRowProps extends LineProps {
  readonly count: number;
  readonly isOpen: boolean;
  onToggle(): void;
}

export function GroupRow({ count, isOpen, isSelected, onSelect, onToggle }: GroupRowProps) {
  return (
    // The tree element handles the keyboard, as ARIA recommends.
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles keys
    <div
      class={`row ${isSelected ? 'selected' : ''}`}
      role="treeitem"
      tabIndex={-1}
      id={isSelected ? 'selected-row' : undefined}
      aria-level={2}
      aria-selected={isSelected}
      aria-expanded={count > 0 ? isOpen : undefined}
      data-name="sessions"
      onClick={onSelect}
    >
      <span style={{ width: '14px' }} class="indent" />
      <span
        class="fold"
        aria-hidden="true"
        onClick={(event) => {
          if (count === 0) return;
          event.stopPropagation();
          onToggle();
        }}
      >
        {count === 0 ? '' : isOpen ? '▾' : '▸'}
      </span>
      <RowText name={`sessions (${count.toLocaleString('en')})`} title="sessions" />
    </div>
  );
}

interface SessionLineProps extends LineProps {
  readonly line: TreeLine<never> & { readonly kind: 'session' };
  /** Time of the session's data, by the gateway's clock. */
  readonly at: number;
}

export function SessionLine({ line, at, isSelected, onSelect }: SessionLineProps) {
  const { session, index, count } = line;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles keys
    <div
      class={`row ${isSelected ? 'selected' : ''}`}
      role="treeitem"
      tabIndex={-1}
      id={isSelected ? 'selected-row' : undefined}
      aria-level={3}
      aria-setsize={count}
      aria-posinset={index + 1}
      aria-selected={isSelected}
      data-session={session?.number}
      title={session && sessionText(session, at)}
      onClick={onSelect}
    >
      <span style={{ width: '28px' }} class="indent" />
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
    </div>
  );
}

function sessionText(
  { endpoint, era, opened_at, last_seen_at, streams, in_flight }: SessionRow,
  at: number,
): string {
  return [
    endpoint,
    `protocol era ${era}`,
    `open for ${span(at - opened_at)}`,
    `last message ${span(at - last_seen_at)} ago`,
    `${streams} open ${streams === 1 ? 'stream' : 'streams'}`,
    `${in_flight} ${in_flight === 1 ? 'call' : 'calls'} in flight`,
  ].join(', ');
}
