// The tools of a server: chosen by name, called with a form, where the gateway file allows it.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Commands } from '../banners/commands.tsx';
import { bringIntoSight } from '../chart/into-sight.ts';
import { useAsked } from '../feed/hooks.ts';
import { tools } from '../feed/tool-calls.ts';
import { howToAct } from '../rights.ts';
import { visibleName } from '../visible-text.ts';
import { counted } from '../words.ts';
import { benchOf } from './benches.ts';
import type { ToolBench } from './tool-bench.ts';
import { ToolOutcome } from './tool-outcome.tsx';
import { ToolPane } from './tool-pane.tsx';

const REFRESH_MS = 3_000;

interface ToolsTabProps {
  readonly server: string;
  /** The one that the address names. */
  readonly chosen: string | undefined;
  /** Commands are allowed. */
  readonly mayCall: boolean;
  onChoose(tool: string): void;
}

export function ToolsTab({ server, chosen, mayCall, onChoose }: ToolsTabProps) {
  const bench = useBench(server);
  useEffect(() => {
    bench.chosen = chosen;
  }, [bench, chosen]);
  return (
    <div class="scroll tools-tab">
      {!mayCall && (
        <p class="empty">{howToAct('call tools')}; the command `tools call` does it from a terminal.</p>
      )}
      <ToolNames server={server} chosen={chosen} mayCall={mayCall} onChoose={onChoose} />
      {chosen !== undefined && <ToolPane key={chosen} bench={bench} name={chosen} mayCall={mayCall} />}
      <ToolOutcome bench={bench} />
    </div>
  );
}

/** Draws anew when something was done at the bench. */
function useBench(server: string): ToolBench {
  const [, draw] = useState(0);
  const bench = benchOf(server);
  useEffect(() => bench.subscribe(() => draw((count) => count + 1)), [bench]);
  return bench;
}

function ToolNames({ server, chosen, mayCall, onChoose }: ToolsTabProps) {
  const [filter, setFilter] = useState('');
  const asked = useAsked(`tools of ${server} ${filter}`, () => tools(server, filter), REFRESH_MS);
  // While another filter is asked for, what was there stays.
  const [kept, setKept] = useState(asked.value);
  useEffect(() => {
    if (asked.value !== undefined) setKept(asked.value);
  }, [asked.value]);
  const list = asked.value ?? kept;
  const names = useRef<HTMLUListElement>(null);
  const isKnown = list !== undefined;
  // A link may have chosen one that is far down.
  useLayoutEffect(() => {
    const pressed = names.current?.querySelector('[aria-pressed="true"]');
    bringIntoSight(pressed?.parentElement, pressed);
  }, [chosen, isKnown]);
  if (list === undefined) return <p class="empty">{asked.problem ?? 'Asking …'}</p>;
  if (!list.is_known) return <Unknown server={server} mayCall={mayCall} />;
  const left = list.matching - list.tools.length;
  return (
    <>
      <div class="bar">
        <input
          type="search"
          placeholder="Filter tools"
          aria-label="Filter the tools"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
        <span class="aside" role="status">
          {filter.trim() === ''
            ? counted(list.total, 'tool')
            : `${list.matching} of ${counted(list.total, 'tool')}`}
        </span>
      </div>
      {list.total === 0 && <p class="empty">The server has no tools, or none that clients may see.</p>}
      {list.total > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
        <ul class="tool-names" aria-label="Tools" tabIndex={0} ref={names}>
          {list.tools.map(({ name, title }) => (
            <li key={name}>
              <button type="button" aria-pressed={name === chosen} onClick={() => onChoose(name)}>
                {visibleName(name)}
              </button>
              {title !== null && title !== name && <bdi class="aside">{visibleName(title)}</bdi>}
            </li>
          ))}
          {left > 0 && <li class="aside">and {left} more: filter by a part of the name</li>}
          {list.matching === 0 && <li class="aside">No name has that in it.</li>}
        </ul>
      )}
      {list.cut !== null && <p class="empty">The list is not whole: {list.cut}</p>}
    </>
  );
}

/** Nobody has asked the server yet. */
function Unknown({ server, mayCall }: { readonly server: string; readonly mayCall: boolean }) {
  return (
    <div class="empty">
      <p>What tools the server has is not known yet: it has not run since it is in the catalog.</p>
      {mayCall && (
        <Commands commands={[['Start and ask it', `servers/${encodeURIComponent(server)}/start`]]} />
      )}
    </div>
  );
}
