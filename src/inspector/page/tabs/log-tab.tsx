// Every step the page has seen, newest first: filtered, paused, cleared.

import { useEffect, useMemo, useState } from 'preact/hooks';
import { addressOf, baseName, shownName } from '../address.ts';
import type { Go } from '../feed/hooks.ts';
import type { ActorView, LogEntry } from '../feed/store.ts';
import { Link } from '../link.tsx';
import { Pill } from '../pill.tsx';
import { eventText, stateText } from '../state-words.ts';
import { VirtualList } from '../tree/virtual-list.tsx';
import { clock, countedOf } from '../words.ts';

const ROW = 26;

interface LogTabProps {
  readonly log: readonly LogEntry[];
  readonly actors: ReadonlyMap<string, ActorView>;
  readonly actor: ActorView | undefined;
  readonly go: Go;
  onClear(): void;
}

export function LogTab({ log, actors, actor, go, onClear }: LogTabProps) {
  const [filter, setFilter] = useState('');
  const [isOwn, setOwn] = useState(false);
  /** The log as it was when it was paused. */
  const [held, setHeld] = useState<readonly LogEntry[]>();
  const shown = held ?? log;
  const own = isOwn ? actor : undefined;
  const entries = useMemo(() => matching(shown, filter, own, actors), [shown, filter, own, actors]);
  const pause = () => setHeld(held === undefined ? log : undefined);
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
        <button type="button" aria-pressed={held !== undefined} onClick={pause}>
          {held === undefined ? 'Pause (p)' : 'Go on (p)'}
        </button>
        <button type="button" onClick={onClear} disabled={held !== undefined}>
          Clear
        </button>
        <label>
          <input type="checkbox" checked={isOwn} onChange={(event) => setOwn(event.currentTarget.checked)} />{' '}
          this actor only
        </label>
      </div>
      {entries.length === 0 && (
        <p class="empty" id="no-steps">
          {shown.length === 0
            ? 'Nothing has happened since somebody began to watch: steps come as actors change, not with each call.'
            : 'None of the steps that this page has seen passes the filter.'}
        </p>
      )}
      <VirtualList
        length={entries.length}
        rowHeight={ROW}
        attributes={{ role: 'log', 'aria-live': 'off', tabIndex: 0, 'aria-label': 'Events' }}
        row={(index) => {
          const entry = entries[index];
          return entry === undefined ? null : <Entry key={entry.n} entry={entry} actors={actors} go={go} />;
        }}
      />
      <p class="foot">
        {countedOf(entries.length, shown.length, 'step')}
        {held !== undefined && ', paused'}
      </p>
    </>
  );
}

interface EntryProps extends Pick<LogTabProps, 'actors' | 'go'> {
  readonly entry: LogEntry;
}

function Entry({ entry, actors, go }: EntryProps) {
  return (
    <div class="entry">
      <time>{clock(entry.at)}</time>
      <Link to={{ actor: addressIn(actors, entry), tab: 'log' }} go={go}>
        {shownName(entry.name)}
      </Link>
      <span class="event" title={eventText(entry.event)}>
        {eventText(entry.event)}
      </span>
      {entry.state !== null && <Pill state={entry.state} />}
      <span class="aside">{entry.sourceName === null ? '' : `from ${shownName(entry.sourceName)}`}</span>
    </div>
  );
}

/** Of whoever has ended, the address is that of the next of its name. */
function addressIn(actors: ReadonlyMap<string, ActorView>, entry: LogEntry): string {
  const actor = actors.get(entry.actor);
  return addressOf(actor ?? { name: entry.name, machine: entry.machine, parent: null }, actors);
}

/** Whether the step is this actor's, or that of one before it; of whoever has ended no more is known than the name. */
function isStepOf(own: ActorView, entry: LogEntry, actors: ReadonlyMap<string, ActorView>): boolean {
  const actor = actors.get(entry.actor);
  return actor === undefined
    ? baseName(entry.name) === baseName(own.name)
    : addressOf(actor, actors) === addressOf(own, actors);
}

/** Newest first. */
function matching(
  log: readonly LogEntry[],
  filter: string,
  own: ActorView | undefined,
  actors: ReadonlyMap<string, ActorView>,
): LogEntry[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return log
    .filter((entry) => {
      if (own !== undefined && !isStepOf(own, entry, actors)) return false;
      if (words.length === 0) return true;
      const state = entry.state === null ? '' : stateText(entry.state);
      const text = `${entry.name} ${entry.event} ${state} ${entry.sourceName ?? ''}`.toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .reverse();
}
