// One flow as it is loaded: its graph, without any run.

import { useMemo } from 'preact/hooks';
import { flow as askedFlow } from '../feed/api.ts';
import { useAsked } from '../feed/hooks.ts';
import { FlowView } from '../flow/flow-view.tsx';
import { doneLine } from './run-words.ts';

const REFRESH_MS = 2_000;

interface FlowPaneProps {
  readonly name: string;
  onRuns(whom: string): void;
}

export function FlowPane({ name, onRuns }: FlowPaneProps) {
  const { value, problem } = useAsked(`flow ${name}`, () => askedFlow(name), REFRESH_MS);
  const text = JSON.stringify([value?.nodes, value?.connections]);
  // The same graph is the same object: it is placed once.
  const graph = useMemo(() => value, [text]);
  return (
    <section class="pane" aria-label="The flow" id="flow">
      <div class="bar">
        <h1>{name}</h1>
        <span class="aside">flow</span>
        <button type="button" onClick={() => onRuns(`flow ${name}`)}>
          Its runs
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard */}
      <div class="scroll details" tabIndex={0}>
        {problem !== undefined && <p class="empty">{problem}</p>}
        {value === undefined && problem === undefined && <p class="empty">Asking …</p>}
        {value?.description != null && (
          <p class="empty">
            <bdi>{value.description}</bdi>
          </p>
        )}
        {value !== undefined && <p class="empty">{doneLine(value.stats)}</p>}
        {graph !== undefined && <FlowView name={name} graph={graph} />}
      </div>
    </section>
  );
}
