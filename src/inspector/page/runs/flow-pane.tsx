// Graph of the loaded flow, without run data.

import { useMemo } from 'preact/hooks';
import { fetchFlow } from '../feed/api.ts';
import { usePolled } from '../feed/hooks.ts';
import { FlowView } from '../flow/view.tsx';
import { statsLine } from './figures.ts';

const REFRESH_MS = 2_000;

interface FlowPaneProps {
  readonly name: string;
  onRuns(target: string): void;
}

export function FlowPane({ name, onRuns }: FlowPaneProps) {
  const { value, problem } = usePolled(`flow ${name}`, () => fetchFlow(name), REFRESH_MS);
  const text = JSON.stringify([value?.nodes, value?.connections]);
  // Returns the same object until the graph changes, to avoid a new layout.
  const graph = useMemo(() => value, [text]);
  return (
    <section class="pane" aria-label="Flow details" id="flow">
      <div class="bar">
        <h1>{name}</h1>
        <span class="aside">flow</span>
        <button type="button" onClick={() => onRuns(`flow ${name}`)}>
          Show runs
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable */}
      <div class="scroll details" tabIndex={0}>
        {problem !== undefined && <p class="empty">{problem}</p>}
        {value === undefined && problem === undefined && <p class="empty">Loading …</p>}
        {value?.description != null && (
          <p class="empty">
            <bdi>{value.description}</bdi>
          </p>
        )}
        {value !== undefined && <p class="empty">{statsLine(value.stats)}</p>}
        {graph !== undefined && <FlowView name={name} graph={graph} />}
      </div>
    </section>
  );
}
