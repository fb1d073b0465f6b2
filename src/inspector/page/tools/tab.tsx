// Server tools: list with filter, and a form to call the selected tool.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Commands } from '../banners/commands.tsx';
import { scrollIntoBox } from '../chart/scroll-into-view.ts';
import { usePolled } from '../feed/hooks.ts';
import { fetchTools } from '../feed/tool-calls.ts';
import { pluralize } from '../format.ts';
import { escapeName } from '../visible-text.ts';
import { CallSetup } from './call-setup.tsx';
import { ToolOutcome } from './outcome.tsx';
import { ToolPane } from './pane.tsx';
import type { ToolWorkspace } from './workspace.ts';
import { workspaceOf } from './workspaces.ts';

const REFRESH_MS = 3_000;

interface ToolsTabProps {
  readonly server: string;
  /** Tool in the address. */
  readonly selected: string | undefined;
  /** True if commands are allowed. */
  readonly mayCall: boolean;
  onSelect(tool: string): void;
}

export function ToolsTab({ server, selected, mayCall, onSelect }: ToolsTabProps) {
  const workspace = useWorkspace(server);
  useEffect(() => {
    workspace.selected = selected;
  }, [workspace, selected]);
  return (
    <div class="scroll tools-tab">
      {!mayCall && <CallSetup />}
      <ToolNames server={server} selected={selected} mayCall={mayCall} onSelect={onSelect} />
      {selected !== undefined && (
        <ToolPane key={selected} workspace={workspace} name={selected} mayCall={mayCall} />
      )}
      <ToolOutcome workspace={workspace} />
    </div>
  );
}

/** Re-renders when the workspace changes. */
function useWorkspace(server: string): ToolWorkspace {
  const [, rerender] = useState(0);
  const workspace = workspaceOf(server);
  useEffect(() => workspace.subscribe(() => rerender((count) => count + 1)), [workspace]);
  return workspace;
}

function ToolNames({ server, selected, mayCall, onSelect }: ToolsTabProps) {
  const [filter, setFilter] = useState('');
  const result = usePolled(`tools of ${server} ${filter}`, () => fetchTools(server, filter), REFRESH_MS);
  // Keeps the previous list during a request.
  const [previous, setPrevious] = useState(result.value);
  useEffect(() => {
    if (result.value !== undefined) setPrevious(result.value);
  }, [result.value]);
  const list = result.value ?? previous;
  const names = useRef<HTMLUListElement>(null);
  const isLoaded = list !== undefined;
  // A tool selected by a link may be far down.
  useLayoutEffect(() => {
    const selectedButton = names.current?.querySelector('[aria-pressed="true"]');
    scrollIntoBox(selectedButton?.parentElement, selectedButton);
  }, [selected, isLoaded]);
  if (list === undefined) return <p class="empty">{result.problem ?? 'Loading …'}</p>;
  if (!list.is_known) return <NotQueried server={server} mayCall={mayCall} />;
  const omitted = list.matching - list.tools.length;
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
            ? pluralize(list.total, 'tool')
            : `${list.matching} of ${pluralize(list.total, 'tool')}`}
        </span>
      </div>
      {list.total === 0 && <p class="empty">The server has no tools that clients may see.</p>}
      {list.total > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable
        <ul class="tool-names" aria-label="Tools" tabIndex={0} ref={names}>
          {list.tools.map(({ name, title }) => (
            <li key={name}>
              <button type="button" aria-pressed={name === selected} onClick={() => onSelect(name)}>
                {escapeName(name)}
              </button>
              {title !== null && title !== name && <bdi class="aside">{escapeName(title)}</bdi>}
            </li>
          ))}
          {omitted > 0 && <li class="aside">{omitted} more; use the filter</li>}
          {list.matching === 0 && <li class="aside">No tools match.</li>}
        </ul>
      )}
      {list.cut !== null && <p class="empty">Incomplete list: {list.cut}</p>}
    </>
  );
}

/** Shown if the server's tools were never listed. */
function NotQueried({ server, mayCall }: { readonly server: string; readonly mayCall: boolean }) {
  return (
    <div class="empty">
      <p>The tools are unknown: the server has not run yet.</p>
      {mayCall && (
        <Commands commands={[['Start and list tools', `servers/${encodeURIComponent(server)}/start`]]} />
      )}
    </div>
  );
}
