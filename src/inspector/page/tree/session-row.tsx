// The lines of the tree about sessions: the group of all of them, and each one.

import type { SessionRow } from '../../wire/feed-wire.ts';
import { Pill } from '../pill.tsx';
import { span } from '../words.ts';
import type { TreeLine } from './tree-lines.ts';

interface LineProps {
  readonly isChosen: boolean;
  onChoose(): void;
}

interface GroupRowProps extends LineProps {
  readonly count: number;
  readonly isOpen: boolean;
  onToggle(): void;
}

export function GroupRow({ count, isOpen, isChosen, onChoose, onToggle }: GroupRowProps) {
  return (
    // The tree itself has the keyboard, as a tree should.
    // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled by the tree
    <div
      class={`row ${isChosen ? 'chosen' : ''}`}
      role="treeitem"
      tabIndex={-1}
      id={isChosen ? 'chosen-row' : undefined}
      aria-level={2}
      aria-selected={isChosen}
      aria-expanded={count > 0 ? isOpen : undefined}
      data-name="sessions"
      onClick={onChoose}
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
      <span class="name">sessions ({count.toLocaleString('en')})</span>
    </div>
  );
}

interface SessionLineProps extends LineProps {
  readonly line: TreeLine<never> & { readonly kind: 'session' };
  /** The gateway's clock when the session was as it is shown. */
  readonly at: number;
}

export function SessionLine({ line, at, isChosen, onChoose }: SessionLineProps) {
  const { session, index, count } = line;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled by the tree
    <div
      class={`row ${isChosen ? 'chosen' : ''}`}
      role="treeitem"
      tabIndex={-1}
      id={isChosen ? 'chosen-row' : undefined}
      aria-level={3}
      aria-setsize={count}
      aria-posinset={index + 1}
      aria-selected={isChosen}
      data-session={session?.number}
      title={session && sessionText(session, at)}
      onClick={onChoose}
    >
      <span style={{ width: '28px' }} class="indent" />
      {session === undefined ? (
        <span class="aside">…</span>
      ) : (
        <>
          <span class="number">{session.number}</span>
          <span class="name">
            <bdi>{session.client || '–'}</bdi> <bdi class="aside">{session.version}</bdi>
          </span>
          <span class="aside place">{session.endpoint.replace(/^\/mcp\/?/, '')}</span>
          <span class="aside extra">{span(at - session.opened_at)}</span>
          <Pill state={session.state} />
        </>
      )}
    </div>
  );
}

/** What there is to say of a session besides who its client is. */
function sessionText(
  { endpoint, era, opened_at, last_seen_at, streams, in_flight }: SessionRow,
  at: number,
): string {
  return [
    endpoint,
    era,
    `open for ${span(at - opened_at)}`,
    `last message ${span(at - last_seen_at)} ago`,
    `${streams} open ${streams === 1 ? 'stream' : 'streams'}`,
    `${in_flight} ${in_flight === 1 ? 'call' : 'calls'} in flight`,
  ].join(', ');
}
