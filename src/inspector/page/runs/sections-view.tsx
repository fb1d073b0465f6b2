// What stands in the place of actors: the runs and the deliveries, each with the one that is chosen, the approvals, the agents.

import { useState } from 'preact/hooks';
import { flowAt, runAt, type Section, sectionView, type View } from '../address.ts';
import { DeliveriesView } from '../deliveries/deliveries-view.tsx';
import { targets } from '../feed/api.ts';
import { type Go, useAsked } from '../feed/hooks.ts';
import type { PageState } from '../feed/store.ts';
import { mayAct } from '../rights.ts';
import { CONTENT } from '../skip-link.tsx';
import { AgentsPane } from './agents-pane.tsx';
import { ApprovalsPane } from './approvals-pane.tsx';
import { FlowPane } from './flow-pane.tsx';
import { allRuns, type Known, NoRuns, RunList } from './run-list.tsx';
import { RunPane } from './run-pane.tsx';

const AGENTS_MS = 10_000;

interface SectionsViewProps {
  readonly section: Section;
  readonly view: View;
  readonly state: PageState;
  readonly isStale: boolean;
  readonly go: Go;
}

export function SectionsView({ section, view, state, isStale, go }: SectionsViewProps) {
  const [asked, setAsked] = useState(allRuns);
  const hasAutomation = state.totals?.automation != null;
  const known = useAsked(
    hasAutomation ? 'names of agents' : '',
    () => (hasAutomation ? targets() : Promise.resolve(undefined)),
    AGENTS_MS,
  );
  const { agents: loaded = [], fleets = [], flows = [] } = known.value ?? {};
  const names: Known = { agent: namesOf(loaded), fleet: namesOf(fleets), flow: namesOf(flows) };
  const id = runAt(view.actor);
  const flow = flowAt(view.actor);
  const onRuns = (whom: string): void => {
    setAsked({ ...allRuns, whom });
    go(sectionView('runs'));
  };
  return (
    <main
      id={CONTENT}
      tabIndex={-1}
      class={`sections ${flow === undefined ? section : 'runs'} ${isStale ? 'stale' : ''}`}
    >
      {section === 'deliveries' && <DeliveriesView view={view} state={state} go={go} />}
      {section !== 'deliveries' && state.totals !== null && !hasAutomation && <NoAgents />}
      {hasAutomation && section === 'runs' && (
        <>
          <RunList asked={asked} known={names} chosen={id} now={state.at} go={go} onAsk={setAsked} />
          {id === undefined ? (
            <section class="pane" aria-label="The run">
              <p class="empty">Choose a run to see its steps.</p>
            </section>
          ) : (
            <RunPane key={id} id={id} state={state} go={go} />
          )}
        </>
      )}
      {hasAutomation && section === 'approvals' && (
        <ApprovalsPane now={state.at} mayAct={mayAct(state.totals)} go={go} />
      )}
      {hasAutomation && section === 'agents' && (
        <>
          <AgentsPane chosen={flow} go={go} onRuns={onRuns} />
          {flow !== undefined && <FlowPane key={flow} name={flow} onRuns={onRuns} />}
        </>
      )}
    </main>
  );
}

const namesOf = (all: readonly { readonly name: string }[]) => all.map(({ name }) => name);

function NoAgents() {
  return (
    <section class="pane" aria-label="Runs">
      <p class="empty">This gateway has no agents: its file names no folder of them (spec.agents).</p>
      <NoRuns />
    </section>
  );
}
