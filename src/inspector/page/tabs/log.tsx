// Shows the log, newest step first, for all actors or only for the selected actor. The user can filter,
// pause and clear it.

import { useEffect, useMemo, useState } from 'preact/hooks';
import { addressOf, baseName, displayName } from '../address.ts';
import type { Go } from '../feed/hooks.ts';
import type { ActorView, LogEntry } from '../feed/page-state.ts';
import { clock, pluralizeOf } from '../format.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { eventText, stateText } from '../state-text.ts';
import { VirtualList } from '../tree/virtual-list.tsx';

/** Heights in pixels. An entry has two lines, in a narrow pane three. */
const ROW_HEIGHTS = { narrow: 66, wide: 46, wideFrom: 760 };

interface LogTabProps {
  readonly log: readonly LogEntry[];
  readonly actors: ReadonlyMap<string, ActorView>;
  readonly actor: ActorView | undefined;
  readonly go: Go;
  onClear(): void;
}

export function LogTab({ log, actors, actor, go, onClear }: LogTabProps) {
  const [filter, setFilter] = useState('');
  const [isActorOnly, setActorOnly] = useState(false);
  /** Entries at the time of the pause; undefined while the log is live. */
  const [pausedLog, setPausedLog] = useState<readonly LogEntry[]>();
  const visibleLog = pausedLog ?? log;
  const onlyActor = isActorOnly ? actor : undefined;
  const entries = useMemo(
    () => matching(visibleLog, filter, onlyActor, actors),
    [visibleLog, filter, onlyActor, actors],
  );
  const pause = () => setPausedLog(pausedLog === undefined ? log : undefined);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (
        event.key === 'p' &&
        !(event.target instanceof HTMLInputElement) &&
        !event.ctrlKey &&
        !event.metaKey
      )
        pause();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
  return (
    <>
      <div class="bar">
        <input
          type="search"
          placeholder="Filter events"
          aria-label="Filter the log"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
        <button type="button" aria-pressed={pausedLog !== undefined} onClick={pause}>
          {pausedLog === undefined ? 'Pause (p)' : 'Resume (p)'}
        </button>
        <button type="button" onClick={onClear} disabled={pausedLog !== undefined}>
          Clear
        </button>
        <label>
          <input
            type="checkbox"
            checked={isActorOnly}
            onChange={(event) => setActorOnly(event.currentTarget.checked)}
          />{' '}
          this actor only
        </label>
      </div>
      {entries.length === 0 && (
        <p class="empty" id="no-steps">
          {visibleLog.length === 0
            ? 'No events since the first viewer connected. Actors log state changes, not single calls.'
            : 'No events match the filter.'}
        </p>
      )}
      <VirtualList
        length={entries.length}
        rowHeights={ROW_HEIGHTS}
        attributes={{ role: 'log', 'aria-live': 'off', tabIndex: 0, 'aria-label': 'Events' }}
        row={(index) => {
          const entry = entries[index];
          return entry === undefined ? null : <Entry key={entry.n} entry={entry} actors={actors} go={go} />;
        }}
      />
      <p class="foot">
        {pluralizeOf(entries.length, visibleLog.length, 'step')}
        {pausedLog !== undefined && ', paused'}
      </p>
    </>
  );
}

interface EntryProps extends Pick<LogTabProps, 'actors' | 'go'> {
  readonly entry: LogEntry;
}

function Entry({ entry, actors, go }: EntryProps) {
  const { at, name, event, state, sourceName } = entry;
  return (
    <div class="entry">
      <span class={`who ${nameClass(name)}`} title={name}>
        <Link to={{ actor: addressIn(actors, entry), tab: 'log' }} go={go}>
          <bdi dir="ltr">{displayName(name)}</bdi>
        </Link>
      </span>
      <span class="what">
        <span class="event" title={eventText(event)}>
          {eventText(event)}
        </span>
        {state !== null && <Pill state={state} />}
      </span>
      <span class="when aside">
        <time>{clock(at)}</time>
        {sourceName !== null && (
          <>
            {' from '}
            <span class={nameClass(sourceName)} title={sourceName}>
              <bdi dir="ltr">{displayName(sourceName)}</bdi>
            </span>
          </>
        )}
      </span>
    </div>
  );
}

/**
 * A name with a slash is the key of a conversation. It is truncated at the beginning: its end is distinctive.
 */
const nameClass = (name: string) => (name.includes('/') ? 'name key' : 'name');

/** Returns the address of the actor. It stays the same when the actor is restarted. */
function addressIn(actors: ReadonlyMap<string, ActorView>, entry: LogEntry): string {
  const actor = actors.get(entry.actor);
  return addressOf(actor ?? { name: entry.name, machine: entry.machine, parent: null }, actors);
}

/** Returns true if the step belongs to this actor or a predecessor. Stopped actors are compared by name. */
function isStepOf(own: ActorView, entry: LogEntry, actors: ReadonlyMap<string, ActorView>): boolean {
  const actor = actors.get(entry.actor);
  return actor === undefined
    ? baseName(entry.name) === baseName(own.name)
    : addressOf(actor, actors) === addressOf(own, actors);
}

/** Returns the matching entries, newest first. */
function matching(
  log: readonly LogEntry[],
  filter: string,
  own: ActorView | undefined,
  actors: ReadonlyMap<string, ActorView>,
): LogEntry[] {
  const terms = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return log
    .filter((entry) => {
      if (own !== undefined && !isStepOf(own, entry, actors)) return false;
      if (terms.length === 0) return true;
      const state = entry.state === null ? '' : stateText(entry.state);
      const text = `${entry.name} ${entry.event} ${state} ${entry.sourceName ?? ''}`.toLowerCase();
      return terms.every((term) => text.includes(term));
    })
    .reverse();
}
